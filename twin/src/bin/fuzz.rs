// SPDX-License-Identifier: GPL-2.0-or-later

//! `fuzz [SEED [RUNS [STEPS]]]`: random guests from consecutive seeds. A failure names its seed.

use ravbtwin::fuzz;
use std::sync::atomic::{AtomicU64, Ordering};

static SEED: AtomicU64 = AtomicU64::new(0);

fn main() -> Result<(), String> {
    let mut args = std::env::args().skip(1).map(|arg| {
        arg.parse::<u64>().map_err(|_| format!("{arg}: not a number; fuzz [SEED [RUNS [STEPS]]]"))
    });
    let mut next = |default| args.next().unwrap_or(Ok(default));
    let (first, runs, steps) = (next(0)?, next(100)?, next(2_000)?);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let seed = SEED.load(Ordering::Relaxed);
        eprintln!("seed {seed} failed; again: fuzz {seed} 1 {steps}");
        hook(info);
    }));
    let mut total = fuzz::Outcome::default();
    for seed in (first..).take(runs as usize) {
        SEED.store(seed, Ordering::Relaxed);
        let outcome = fuzz::run(seed, steps);
        total.dma += outcome.dma;
        total.sent += outcome.sent;
        total.received += outcome.received;
        total.violations += outcome.violations;
        if runs == 1 {
            println!("{outcome:?}");
        }
    }
    println!(
        "{runs} runs of {steps} steps: {} DMA accesses, {} frames sent, {} received, {} rules broken",
        total.dma, total.sent, total.received, total.violations
    );
    Ok(())
}

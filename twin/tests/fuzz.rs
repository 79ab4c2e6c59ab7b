// SPDX-License-Identifier: GPL-2.0-or-later

//! A bounded piece of fuzzing for every run of the tests; `src/bin/fuzz.rs` does more.

use ravbtwin::fuzz::{run, Outcome};

/// Seeds 0 to 199; whoever wants others has the command.
#[test]
fn random_guests_break_nothing() {
    let mut total = Outcome::default();
    for seed in 0..200 {
        // With `--nocapture` or on failure the last line tells the seed.
        println!("seed {seed}");
        let outcome = run(seed, 1_500);
        total.sent += outcome.sent;
        total.received += outcome.received;
        total.irqs += outcome.irqs;
        total.violations += outcome.violations;
    }
    // The guests get somewhere: a fuzz run that only bounces off proves nothing.
    assert!(total.sent > 2_000, "{total:?}");
    assert!(total.received > 2_000, "{total:?}");
    assert!(total.irqs > 2_000, "{total:?}");
    assert!(total.violations > 2_000, "{total:?}");
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    for seed in 1000..1010 {
        assert_eq!(run(seed, 1_000), run(seed, 1_000));
    }
    assert_ne!(run(1, 500).digest, run(2, 500).digest);
}

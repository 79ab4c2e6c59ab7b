// SPDX-License-Identifier: GPL-2.0

//! A queue between one producer and one consumer, without locks.
//!
//! It is what `start_xmit` (protected by the xmit lock) and `poll` (protected by NAPI) share of a
//! TX ring: the record of each packet in flight.

use core::{
    cell::UnsafeCell,
    mem::MaybeUninit, //
};

use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        Arc, //
    }, //
};

/// # Invariants
///
/// - The number of slots is a power of two, not above 2^31.
/// - `head - tail` (wrapping) is at most the number of slots. The slots with numbers from `tail` up
///   to `head` (modulo the number of slots) are initialised.
/// - Only the producer changes `head`, only the consumer changes `tail`.
struct Inner<T> {
    slots: KVVec<UnsafeCell<MaybeUninit<T>>>,
    mask: u32,
    head: Atomic<u32>,
    tail: Atomic<u32>,
}

// SAFETY: Values move from the producer's context to the consumer's, which needs `T: Send`. A slot
// belongs to one side at a time, as given by `head` and `tail`.
unsafe impl<T: Send> Sync for Inner<T> {}
// SAFETY: As above.
unsafe impl<T: Send> Send for Inner<T> {}

impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        let head = self.head.load(Relaxed);
        let mut tail = self.tail.load(Relaxed);

        while tail != head {
            if let Some(slot) = self.slots.get_mut((tail & self.mask) as usize) {
                // SAFETY: By the type invariant the slot is initialised; it is dropped once.
                unsafe { slot.get_mut().assume_init_drop() };
            }
            tail = tail.wrapping_add(1);
        }
    }
}

/// The sending end.
///
/// # Invariants
///
/// `head` is the queue's `head`. `tail` is an earlier value of its `tail`, which was read with
/// acquire ordering.
pub struct Producer<T> {
    inner: Arc<Inner<T>>,
    head: u32,
    tail: u32,
}

/// The receiving end.
///
/// # Invariants
///
/// `tail` is the queue's `tail`. `head` is an earlier value of its `head`, which was read with
/// acquire ordering.
pub struct Consumer<T> {
    inner: Arc<Inner<T>>,
    head: u32,
    tail: u32,
}

/// Shows whether there is something in a queue, to those who have neither end.
pub struct Watcher<T>(Arc<Inner<T>>);

impl<T> Watcher<T> {
    /// Returns whether the queue is empty. Orders nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.head.load(Relaxed) == self.0.tail.load(Relaxed)
    }
}

/// Makes a queue with room for `capacity` values, a power of two.
pub fn channel<T: Send>(capacity: u32) -> Result<(Producer<T>, Consumer<T>)> {
    if !capacity.is_power_of_two() {
        return Err(EINVAL);
    }
    let mut slots = KVVec::with_capacity(capacity as usize, GFP_KERNEL)?;

    for _ in 0..capacity {
        slots.push(UnsafeCell::new(MaybeUninit::uninit()), GFP_KERNEL)?;
    }
    // INVARIANT: `capacity` is a power of two; nothing is in the queue.
    let inner = Arc::new(
        Inner {
            slots,
            mask: capacity - 1,
            head: Atomic::new(0),
            tail: Atomic::new(0),
        },
        GFP_KERNEL,
    )?;

    // INVARIANT: All indices are 0.
    Ok((
        Producer {
            inner: inner.clone(),
            head: 0,
            tail: 0,
        },
        Consumer {
            inner,
            head: 0,
            tail: 0,
        },
    ))
}

impl<T> Producer<T> {
    /// Returns a view of the queue.
    pub fn watcher(&self) -> Watcher<T> {
        Watcher(self.inner.clone())
    }

    /// Returns how many values fit.
    #[inline]
    pub fn free(&self) -> u32 {
        // Pairs with the release in `pop`: slots that are counted as free are no longer read.
        let tail = self.inner.tail.load(Acquire);

        self.inner
            .mask
            .wrapping_add(1)
            .wrapping_sub(self.head.wrapping_sub(tail))
    }

    /// Returns the number of the slot that the next value goes to.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.head & self.inner.mask
    }

    /// Puts a value in, or gives it back if there is no room.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let inner = &*self.inner;

        if self.head.wrapping_sub(self.tail) > inner.mask {
            // INVARIANT: Read with acquire ordering; pairs with the release in `pop`.
            self.tail = inner.tail.load(Acquire);
            if self.head.wrapping_sub(self.tail) > inner.mask {
                return Err(value);
            }
        }

        let Some(slot) = inner.slots.get((self.head & inner.mask) as usize) else {
            return Err(value);
        };
        // SAFETY: The slot is free, so it is the producer's, of which there is one (`&mut self`).
        unsafe { (*slot.get()).write(value) };
        // INVARIANT: The slot is initialised; there was room. Pairs with the acquire in `ready`.
        self.head = self.head.wrapping_add(1);
        inner.head.store(self.head, Release);
        Ok(())
    }
}

impl<T> Consumer<T> {
    /// Returns whether there is a value.
    #[inline(always)]
    fn ready(&mut self) -> bool {
        if self.head == self.tail {
            // INVARIANT: Read with acquire ordering; pairs with the release in `push`.
            self.head = self.inner.head.load(Acquire);
        }
        self.head != self.tail
    }

    /// Returns how many values are in the queue.
    #[inline]
    pub fn len(&self) -> u32 {
        self.inner.head.load(Relaxed).wrapping_sub(self.tail)
    }

    /// Returns whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many values the producer could put in now.
    #[inline]
    pub fn free(&self) -> u32 {
        self.inner.mask.wrapping_add(1).wrapping_sub(self.len())
    }

    /// Returns the number of the slot of the oldest value.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.tail & self.inner.mask
    }

    /// Looks at the oldest value.
    #[inline]
    pub fn peek(&mut self) -> Option<&T> {
        if !self.ready() {
            return None;
        }
        let slot = self
            .inner
            .slots
            .get((self.tail & self.inner.mask) as usize)?;

        // SAFETY: By the type invariant the slot is initialised, and it is the consumer's until
        // `pop`, which needs `&mut self`.
        Some(unsafe { (*slot.get()).assume_init_ref() })
    }

    /// Takes the oldest value.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if !self.ready() {
            return None;
        }
        let inner = &*self.inner;
        let slot = inner.slots.get((self.tail & inner.mask) as usize)?;
        // SAFETY: By the type invariant the slot is initialised; `tail` moves past it, so that it
        // is read once.
        let value = unsafe { (*slot.get()).assume_init_read() };

        // INVARIANT: The slot no longer counts as initialised. Pairs with the acquires in `free`
        // and `push`.
        self.tail = self.tail.wrapping_add(1);
        inner.tail.store(self.tail, Release);
        Some(value)
    }
}

#[kunit_tests(ravb_rs_net_spsc)]
mod tests {
    use super::*;

    /// A queue that has already passed on so many values.
    fn begun(capacity: u32, at: u32) -> Result<(Producer<Arc<u32>>, Consumer<Arc<u32>>)> {
        let (mut producer, mut consumer) = channel(capacity)?;

        // INVARIANT: Nothing is in the queue, whose indices are all the same.
        producer.inner.head.store(at, Relaxed);
        producer.inner.tail.store(at, Relaxed);
        (producer.head, producer.tail) = (at, at);
        (consumer.head, consumer.tail) = (at, at);
        Ok((producer, consumer))
    }

    #[test]
    fn order_is_kept_past_the_largest_index() -> Result {
        // The indices wrap in the first round, and in between.
        for at in [0, 1, u32::MAX, u32::MAX - 2, 1 << 31] {
            let (mut producer, mut consumer) = begun(4, at)?;
            let mut next = 0;

            for round in 0..5u32 {
                for value in 0..4 {
                    assert_eq!(producer.free(), 4 - value);
                    assert_eq!(producer.index(), at.wrapping_add(round * 4 + value) & 3);

                    let value = Arc::new(round * 4 + value, GFP_KERNEL)?;

                    assert!(producer.push(value).is_ok());
                }
                assert_eq!(producer.free(), 0);
                assert_eq!(consumer.len(), 4);
                for _ in 0..4 {
                    assert!(consumer.peek().is_some_and(|value| **value == next));
                    assert!(consumer.pop().is_some_and(|value| *value == next));
                    next += 1;
                }
                assert!(consumer.pop().is_none());
                assert!(consumer.is_empty());
            }
        }
        Ok(())
    }

    #[test]
    fn a_full_queue_gives_back() -> Result {
        let (mut producer, mut consumer) = begun(2, u32::MAX)?;

        for value in 0..2 {
            assert!(producer.push(Arc::new(value, GFP_KERNEL)?).is_ok());
        }
        assert!(producer
            .push(Arc::new(2, GFP_KERNEL)?)
            .is_err_and(|value| *value == 2));
        assert!(consumer.pop().is_some_and(|value| *value == 0));
        assert!(producer.push(Arc::new(3, GFP_KERNEL)?).is_ok());
        assert_eq!(consumer.free(), 0);
        Ok(())
    }

    #[test]
    fn what_is_left_is_dropped() -> Result {
        let (mut producer, mut consumer) = begun(4, u32::MAX - 1)?;
        let value = Arc::new(0, GFP_KERNEL)?;

        for _ in 0..3 {
            assert!(producer.push(value.clone()).is_ok());
        }
        drop(consumer.pop());

        let watcher = producer.watcher();

        assert!(!watcher.is_empty());
        drop((producer, consumer, watcher));
        // Nobody else has it any more.
        assert!(Arc::into_unique_or_drop(value).is_some());
        Ok(())
    }

    #[test]
    fn only_powers_of_two() {
        for capacity in [0, 3, 1000, u32::MAX] {
            assert!(channel::<u32>(capacity).is_err());
        }
    }
}

//! The functions of the core one by one, each with what nothing at all costs to compare with: `make bench-core`.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use snowflake_core::layout::{self, EPOCH_MS_DEFAULT, Id, NODE_ID_DEFAULT, NodeId, SEQUENCE_ID_MAX};
use snowflake_core::{Answer, Block, Ceiling, Request, Word};

const NOW: i64 = 500_000_000_000;
const NODE: NodeId = match NodeId::new(NODE_ID_DEFAULT) {
    Ok(node) => node,
    Err(_) => panic!("the default is in the range"),
};

fn format(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("format");
    let id = Id::last_of(NOW);
    group.bench_function("nothing", |bencher| bencher.iter(|| black_box(id)));
    group.bench_function("compose", |bencher| {
        let unix_ms = NOW + EPOCH_MS_DEFAULT;
        bencher
            .iter(|| layout::compose(black_box(unix_ms), NODE_ID_DEFAULT, SEQUENCE_ID_MAX, EPOCH_MS_DEFAULT));
    });
    group.bench_function("generate", |bencher| {
        let now = NOW + EPOCH_MS_DEFAULT;
        bencher.iter(|| {
            layout::generate(
                black_box(7),
                black_box(NODE_ID_DEFAULT),
                black_box(EPOCH_MS_DEFAULT),
                black_box(now),
            )
        });
    });
    group.bench_function("check an id and decode its time", |bencher| {
        bencher.iter(|| Id::new(black_box(id.get())).map(|id| id.unix_ms(EPOCH_MS_DEFAULT)));
    });
    group.bench_function("parse an epoch", |bencher| {
        bencher.iter(|| layout::parse_epoch_ms(black_box("1288834974657")));
    });
    group.finish();
}

fn generator(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generator");
    let request = |seen: Id, now: i64, want: i64| Request {
        seen,
        now,
        node: NODE,
        ceiling: Id::MAX,
        max_clock_step_ms: 86_400_000,
        want,
        paced: i64::MIN,
        waits: false,
        first_sequence_id: 0,
    };
    let started = || {
        let word = Word::new();
        word.start(Id::first_of(NOW));
        word
    };
    group.bench_function("reserve one id, the clock has passed the last", |bencher| {
        let (word, mut now) = (started(), NOW);
        bencher.iter(|| {
            now += 1;
            let (word, seen) = word.look().expect("it is started");
            word.reserve(&request(seen, now, 1))
        });
    });
    group.bench_function("reserve one id, in the millisecond of the last", |bencher| {
        let (word, mut now) = (started(), NOW);
        bencher.iter(|| {
            let (word, seen) = word.look().expect("it is started");
            now += i64::from(seen.sequence_id() == SEQUENCE_ID_MAX);
            word.reserve(&request(seen, now, 1))
        });
    });
    group.bench_function("take one id of a block", |bencher| {
        let (word, mut now) = (started(), NOW);
        let mut block = Block::EMPTY;
        bencher.iter(|| {
            let (word, seen) = word.look().expect("it is started");
            block.take(seen, Id::MIN, now, NODE, 86_400_000).or_else(|| {
                now += 1;
                if let Ok(Answer::Reserved(reserved)) = word.reserve(&request(seen, now, 256)) {
                    block = reserved;
                }
                block.take_reserved()
            })
        });
    });
    group.bench_function("a lost race", |bencher| {
        let word = started();
        let word = word.started().expect("it is started");
        let stale = request(Id::first_of(NOW - 1), NOW, 1);
        bencher.iter(|| word.reserve(black_box(&stale)));
    });
    group.bench_function("raise the word", |bencher| {
        bencher.iter_batched(
            started,
            |word| word.started().map(|word| word.raise(Id::last_of(NOW))),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("the next ceiling", |bencher| {
        bencher.iter(|| Ceiling::above(black_box(NOW), black_box(10_000)));
    });
    group.finish();
}

criterion_group!(benches, format, generator);
criterion_main!(benches);

// Package inputs reads training data: lazy streams of Arrow record batches, the
// transforms that shape them, and the exact saving and restoring of a position.
//
// A Dataset comes from a source (Glyphs, IDX, CIFAR10, CSV, JSONL, TFRecord, Parquet, ArrowFile,
// ImageFolder, Records, Slices; FromStructs, FromFunc, FromChannel, FromRows and FromQuery for values of Go) and
// passes through transforms:
//
//	ds := inputs.Pipe(source,
//		inputs.Shuffle(60000, seed),
//		inputs.Repeat(0),
//		inputs.Batch(128, true),
//		inputs.ParallelMap(inputs.Augment(inputs.Augmentation{CropPadding: 4, Flip: true, Seed: seed}), 2),
//		inputs.Prefetch(2))
//
// Concatenate, Zip, Interleave and Mix make one data set of several; FlatMap, Window, Unbatch, GroupBy,
// BucketByLength, PaddedBatch, Dedupe, Resample and Snapshot deliver what tf.data delivers under these names.
//
// All counts are rows: a record before Batch is just a convenient run of rows. The same seed gives the
// same batches at any parallelism, because a shuffle depends on (seed, epoch), and randomness within a
// Map on (seed, epoch, row), never on scheduling.
//
// An Iterator's State is small and exact, shuffle buffer included: row numbers
// where the source has random access (Indexed), rows otherwise. It can be
// restored into an Iterator of the same pipeline, with any depth of prefetching
// and any parallelism. A channel and the rows of a query come only once: see Resume.
//
// Records are reference counted: the receiver of one releases it. Background
// goroutines end with the Iterator or its context.
package inputs

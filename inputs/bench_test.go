package inputs

import (
	"context"
	"testing"
)

func benchmark(b *testing.B, ds Dataset, examples int) {
	it, err := ds.Iterate(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer it.Close()
	b.ResetTimer()
	for range b.N {
		rec, err := it.Next(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		rec.Release()
	}
	b.ReportMetric(float64(b.N*examples)/b.Elapsed().Seconds(), "examples/s")
}

// BenchmarkAugmentCIFAR streams CIFAR-like images on one core: shuffled, normalised, cropped, flipped.
func BenchmarkAugmentCIFAR(b *testing.B) {
	n := 2000
	data := make([]byte, n*cifarRecord)
	f := write(b, "c.bin", data)
	src, err := CIFAR10([]string{f}, nil)
	if err != nil {
		b.Fatal(err)
	}
	m := Compose(Normalize(Normalization{Scale: 255, Mean: []float64{.5, .5, .5}, Std: []float64{.2, .2, .2}}),
		Augment(Augmentation{CropPadding: 4, Flip: true, Seed: 1}))
	benchmark(b, Pipe(src, Shuffle(n, 1), Repeat(0), Batch(128, true), Map(m)), 128)
}

func BenchmarkGlyphs(b *testing.B) {
	src, err := Glyphs(1, 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, Pipe(src, Batch(128, true), Map(Normalize(Normalization{Scale: 255}))), 128)
}

func BenchmarkShuffleIDX(b *testing.B) {
	n := 60000
	src, err := Slices(nil, Slice("image", Feature, make([]byte, n*784), 28, 28, 1), Slice("label", Label, make([]int64, n)))
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, Pipe(src, Shuffle(n, 1), Repeat(0), Batch(128, true), Prefetch(2)), 128)
}

// BenchmarkShuffleStream shuffles a stream of 1 M rows with 20 floats, in batches of 512.
func BenchmarkShuffleStream(b *testing.B) {
	const rows, batch = 1_000_000, 512
	var columns []NamedTensor
	for i := range 20 {
		columns = append(columns, Slice(string(rune('a'+i)), Feature, make([]float32, rows)))
	}
	src, err := Slices(nil, columns...)
	if err != nil {
		b.Fatal(err)
	}
	ds := Pipe(streamOf(src), Shuffle(rows, 1), Repeat(0), Batch(batch, true))
	it, err := ds.Iterate(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer it.Close()
	b.ResetTimer()
	for range b.N {
		for range rows / batch { // a pass
			rec, err := it.Next(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			rec.Release()
		}
	}
}

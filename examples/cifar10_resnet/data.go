package main

import (
	"context"
	"path/filepath"
	"runtime"

	"github.com/goestimator/goestimator/inputs"
)

const (
	classes = 10
	side    = 32 // of an image
)

// inputFn returns this task's share of the images, in per-replica batches.
func (f flags) inputFn(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	ic.GlobalBatch = f.batchSize
	batch, err := ic.PerReplicaBatch()
	if err != nil {
		return nil, err
	}
	images, err := f.images(ic)
	if err != nil {
		return nil, err
	}
	// Pixels of CIFAR-10's training images have these means and standard deviations.
	mappers := []inputs.Mapper{inputs.Normalize(inputs.Normalization{Scale: 255, Mean: []float64{0.4914, 0.4822, 0.4465}, Std: []float64{0.2470, 0.2435, 0.2616}})}
	steps := []inputs.Transform{inputs.Shard(ic.Pipeline, max(ic.NumPipelines, 1))}
	if ic.Mode == inputs.Train {
		steps = append(steps, inputs.Shuffle(50_000, ic.Seed), inputs.Repeat(0))
		mappers = append(mappers, inputs.Augment(inputs.Augmentation{CropPadding: 4, Flip: true, Seed: ic.Seed}))
	}
	steps = append(steps, inputs.Batch(batch, false), inputs.ParallelMap(inputs.Compose(mappers...), runtime.GOMAXPROCS(0)), inputs.Prefetch(2))
	return inputs.Pipe(images, steps...), nil
}

// images are CIFAR-10's or, without a data folder, random ones.
func (f flags) images(ic inputs.Context) (inputs.Dataset, error) {
	pattern := "data_batch_*.bin*"
	if ic.Mode == inputs.Eval {
		pattern = "test_batch.bin*"
	}
	if f.dataDir == "" {
		return drawn(ic)
	}
	files, err := inputs.Expand(filepath.Join(f.dataDir, pattern))
	if err != nil {
		return nil, err
	}
	return inputs.CIFAR10(files, ic.Allocator)
}

// drawn makes images in ten colours with noise, different ones for training and evaluation.
func drawn(ic inputs.Context) (inputs.Dataset, error) {
	count, noise := 1024, uint32(1)
	if ic.Mode == inputs.Eval {
		count, noise = 256, 2
	}
	pixels, labels := make([]uint8, 0, count*side*side*3), make([]int64, count)
	for i := range labels {
		class := (i + i/classes) % classes // every share of the rows contains all classes
		labels[i] = int64(class)
		colour := [3]uint8{uint8(class * 20), uint8(class % 5 * 40), uint8(class % 2 * 120)}
		for range side * side {
			for _, base := range colour {
				noise = noise*1664525 + 1013904223
				pixels = append(pixels, base+uint8(noise>>26))
			}
		}
	}
	return inputs.Slices(ic.Allocator, inputs.Slice("image", inputs.Feature, pixels, side, side, 3), inputs.Slice("label", inputs.Label, labels))
}

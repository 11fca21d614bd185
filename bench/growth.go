package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// growthCases are BATCHxWIDTHxDEPTH: an MLP with DEPTH hidden layers of WIDTH
// units. One number changes at a time.
func growthCases() []string {
	out := []string{"128x512x2"}
	for _, b := range []int{1, 8, 32, 512} {
		out = append(out, fmt.Sprintf("%dx512x2", b))
	}
	for _, w := range []int{64, 128, 256, 1024} {
		out = append(out, fmt.Sprintf("128x%dx2", w))
	}
	for _, d := range []int{1, 4, 8} {
		out = append(out, fmt.Sprintf("128x512x%d", d))
	}
	return out
}

func growthWorkload(name string) (workload, error) {
	var batch, width, depth int
	if _, err := fmt.Sscanf(name, "%dx%dx%d", &batch, &width, &depth); err != nil {
		return workload{}, fmt.Errorf("case %q: expected BATCHxWIDTHxDEPTH", name)
	}
	units := make([]int, depth)
	for i := range units {
		units[i] = width
	}
	w := workloads["mlp"]
	w.model = classifier("mlp", map[string]any{"hidden_units": units}, "adam", nil)
	w.batch, w.batches = batch, 4
	return w, nil
}

func growthField(ctx context.Context, _ settings, dir string) (field, error) {
	for _, name := range growthCases() {
		w, err := growthWorkload(name)
		if err != nil {
			return field{}, err
		}
		if _, err := w.give(ctx, filepath.Join(dir, name)); err != nil {
			return field{}, err
		}
	}
	argv, err := self("growth", dir)
	return field{contenders: []contender{{name: ours, argv: argv}}}, err
}

// growthWorker trains a separate model for each block.
func growthWorker(l *link, args []string) error {
	return l.serve(reply{}, func(c command) (reply, error) {
		w, err := growthWorkload(c.name)
		if err != nil {
			return reply{}, err
		}
		b := &block{steps: c.steps}
		err = train(context.Background(), w, filepath.Join(args[0], c.name), b)
		return reply{Seconds: b.seconds}, err
	})
}

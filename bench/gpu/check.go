package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// check is one check of the command test. run returns what it measured.
type check struct {
	name string
	run  func(ctx context.Context, g *gpu) (string, error)
}

var checks = []check{
	{"train_mlp", func(ctx context.Context, g *gpu) (string, error) { return trains(ctx, g, "mlp") }},
	{"train_cnn", func(ctx context.Context, g *gpu) (string, error) { return trains(ctx, g, "cnn") }},
	{"train_resnet20", func(ctx context.Context, g *gpu) (string, error) { return trains(ctx, g, "resnet20") }},
	{"bench_cases", casesRun},
	{"same_bits", sameBits},
	{"move", moves},
	{"memory", memoryStays},
}

// test runs the checks and prints a line for each.
func (s settings) test(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	g, err := openGPU(ctx, s.emulated)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	fmt.Fprintln(out, g.name)
	names := strings.Split(s.names, ",")
	for _, n := range names {
		if n != "" && !slices.ContainsFunc(checks, func(c check) bool { return c.name == n }) {
			return fmt.Errorf("no check %q", n)
		}
	}
	failed := 0
	for _, c := range checks {
		if s.names != "" && !slices.Contains(names, c.name) {
			continue
		}
		begun := time.Now()
		seen, err := c.run(ctx, g)
		verdict := "PASS"
		if err != nil {
			verdict, seen = "FAIL", err.Error()
			failed++
		}
		fmt.Fprintf(out, "%s %s (%.1f s): %s\n", verdict, c.name, time.Since(begun).Seconds(), seen)
	}
	if failed > 0 {
		return fmt.Errorf("%d checks failed", failed)
	}
	return nil
}

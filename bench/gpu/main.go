package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// exitNoGPU is the exit code if there is no usable GPU.
const exitNoGPU = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := command(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errNoGPU):
		fmt.Println(err)
		os.Exit(exitNoGPU)
	default:
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	what := ""
	if len(args) > 0 {
		what, args = args[0], args[1:]
	}
	f := flag.NewFlagSet("gpu "+what, flag.ContinueOnError)
	var s settings
	f.BoolVar(&s.emulated, "emulate", false, "run on the emulated GPU with tiny sizes")
	switch what {
	case "test":
		f.StringVar(&s.names, "checks", "", "comma-separated checks; empty: all")
		f.DurationVar(&s.limit, "limit", 4*time.Minute, "end after so long")
	case "bench":
		f.StringVar(&s.names, "cases", "", "comma-separated cases; empty: all")
		f.IntVar(&s.rounds, "rounds", 7, "blocks of each contender")
		f.DurationVar(&s.block, "block", 300*time.Millisecond, "about how long a block takes")
		f.DurationVar(&s.limit, "limit", 7*time.Minute, "end after so long: what is left is not measured, and named")
		f.StringVar(&s.python, "python", "python3", "Python with PyTorch")
		f.StringVar(&s.out, "out", "bench/results", "folder for gpu.json")
	case "tables", "find":
	default:
		return fmt.Errorf("no command %q: expected test, bench, tables or find", what)
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	switch what {
	case "test":
		return s.test(ctx, out)
	case "bench":
		return s.run(ctx)
	case "tables":
		return writeTables("bench/results", "docs/performance.md")
	}
	g, err := openGPU(ctx, s.emulated)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, g.name)
	return g.Close()
}

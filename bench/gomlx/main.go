package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
)

// version is GoMLX's version in go.mod.
const version = "0.28.0 with SIMD, Go backend"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// worker reads commands from in and writes answers to out, using the fixtures in dir.
type worker func(b compute.Backend, dir string, in io.Reader, out io.Writer) error

// run runs the worker; it turns GoMLX's panics into errors.
func run(args []string) (err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("gomlx: %v", e)
		}
	}()
	kinds := map[string]worker{"train": trainWorker(false), "train_by_hand": trainWorker(true), "predict": predictWorker}
	if len(args) != 2 || kinds[args[0]] == nil {
		return fmt.Errorf("arguments %q: expected train, train_by_hand or predict, and DIR", args)
	}
	b, err := newBackend()
	if err != nil {
		return err
	}
	return kinds[args[0]](b, args[1], os.Stdin, os.Stdout)
}

// newBackend limits both Go's scheduler and GoMLX's pool to the threads that the
// parent allows. Ops run one at a time, each on all threads: in a pool of one thread, two
// concurrent products would wait for each other for ever.
func newBackend() (compute.Backend, error) {
	n, err := strconv.Atoi(os.Getenv("BENCH_THREADS"))
	if err != nil || n < 1 {
		n = runtime.NumCPU()
	}
	runtime.GOMAXPROCS(n)
	return gobackend.New(fmt.Sprintf("parallelism=%d,ops_sequential", n))
}

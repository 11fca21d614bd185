package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the flags of the command line.
type settings struct {
	subjects  []string
	cases     []string // empty: all
	threads   []int
	rounds    int
	processes int
	block     time.Duration
	pause     time.Duration
	results   string
	python    string
	oursOnly  bool
	record    bool
	compare   bool
	spin      bool
	cpu       bool
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "worker" {
		if err := work(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "tables" {
		if err := writeTables("bench/results", "docs/performance.md"); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	slower := 0
	for _, name := range s.subjects {
		i := slices.IndexFunc(subjects, func(x subject) bool { return x.name == name })
		n, err := s.one(ctx, s.chosen(subjects[i]))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		slower += n
	}
	if slower > 0 {
		return fmt.Errorf("%d measurements are more than 5 %% slower than the recorded ones", slower)
	}
	return nil
}

// chosen is a subject with the requested cases.
func (s settings) chosen(sub subject) subject {
	if len(s.cases) > 0 {
		sub.cases = slices.DeleteFunc(slices.Concat(sub.cases, sub.asked), func(name string) bool { return !slices.Contains(s.cases, name) })
	}
	return sub
}

func parse(args []string) (settings, error) {
	var s settings
	var names, cases, threads string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&names, "subject", "", "comma-separated subjects; empty: all of "+strings.Join(subjectNames(), ","))
	f.StringVar(&cases, "cases", "", "comma-separated cases of the subjects; empty: all")
	f.StringVar(&threads, "threads", "1,2", "comma-separated numbers of threads")
	f.IntVar(&s.rounds, "rounds", 7, "blocks of each contender in each process")
	f.IntVar(&s.processes, "processes", 3, "fresh processes of each contender")
	f.DurationVar(&s.block, "block", 300*time.Millisecond, "about how long a block takes")
	f.DurationVar(&s.pause, "pause", 50*time.Millisecond, "pause between blocks")
	f.StringVar(&s.results, "results", "bench/results", "folder of recorded results")
	f.StringVar(&s.python, "python", ".venv/bin/python", "Python with the peers")
	f.BoolVar(&s.oursOnly, "ours", false, "leave the peers out")
	f.BoolVar(&s.record, "record", false, "keep the results")
	f.BoolVar(&s.compare, "compare", false, "compare with the recorded results; fail where 5 % slower")
	f.BoolVar(&s.spin, "spin", false, "measure PyTorch with OpenMP's spinning threads, too: for an idle machine")
	f.BoolVar(&s.cpu, "cpu", false, "measure the processor time of workers in place of the time that passes: for a machine that others use, with one thread; blocks of 1s or more")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if cases != "" {
		s.cases = strings.Split(cases, ",")
	}
	s.subjects = subjectNames()
	if names != "" {
		s.subjects = strings.Split(names, ",")
	}
	for _, n := range s.subjects {
		if !slices.Contains(subjectNames(), n) {
			return s, fmt.Errorf("no subject %q: expected one of %s", n, strings.Join(subjectNames(), ", "))
		}
	}
	for _, t := range strings.Split(threads, ",") {
		n, err := strconv.Atoi(t)
		if err != nil || n < 1 {
			return s, fmt.Errorf("threads %q: expected whole numbers >= 1", threads)
		}
		s.threads = append(s.threads, n)
	}
	if s.cpu && s.record {
		return s, errors.New("processor time is not recorded: leave -cpu or -record out")
	}
	if s.record && cases != "" {
		return s, errors.New("results are recorded of all cases of a subject: leave -cases or -record out")
	}
	if s.rounds < 1 || s.processes < 1 {
		return s, errors.New("rounds and processes must be at least 1")
	}
	return s, nil
}

// one measures a subject, prints its tables, and returns how many of our
// measurements are slower than recorded.
func (s settings) one(ctx context.Context, sub subject) (int, error) {
	r, err := s.measure(ctx, sub)
	if err != nil {
		return 0, err
	}
	r.print(os.Stdout)
	slower := 0
	if s.compare {
		old, err := readResult(s.results, sub.name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			fmt.Printf("%s: nothing is recorded to compare with\n", sub.name)
		case err != nil:
			return 0, err
		default:
			slower = r.compare(os.Stdout, old)
		}
	}
	if s.record {
		return slower, r.write(s.results)
	}
	return slower, nil
}

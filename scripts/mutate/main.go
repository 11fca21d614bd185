package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"time"
)

// folders are the default folders to draw mutants from.
const folders = "./estimator/...,./internal/distribute/...,./inputs/...,./serving/...,./internal/distributed/...,./internal/serving/...,./internal/runtime/engine/...,./internal/imported/session/..."

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// settings are the settings of the command line.
type settings struct {
	seed     uint64
	count    int
	only     int
	list     bool
	results  string
	folders  string
	timeout  time.Duration
	parallel int
	ownOnly  bool
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.Uint64Var(&s.seed, "seed", 1, "which mutants are drawn")
	flags.IntVar(&s.count, "n", 100, "how many mutants")
	flags.IntVar(&s.only, "only", 0, "run only the mutant with this number")
	flags.BoolVar(&s.list, "list", false, "print the mutants and run nothing")
	flags.StringVar(&s.results, "results", "", "file of results, a JSON object a line; those in it are not run again")
	flags.StringVar(&s.folders, "packages", folders, "patterns of packages, with commas between them")
	flags.DurationVar(&s.timeout, "timeout", 10*time.Minute, "how long the tests of one package may take")
	flags.IntVar(&s.parallel, "p", 2, "how many packages are built and tested at once")
	flags.BoolVar(&s.ownOnly, "own", false, "run only the tests of a mutant's own package")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.count < 1 || s.only < 0 || s.only > s.count {
		return s, fmt.Errorf("-n %d -only %d: expected at least one mutant, and one of them", s.count, s.only)
	}
	return s, nil
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	module, err := loadModule(ctx, strings.Split(s.folders, ","))
	if err != nil {
		return err
	}
	done, err := readResults(s.results)
	if err != nil {
		return err
	}
	t := tester{module: module, timeout: s.timeout, parallel: s.parallel, ownOnly: s.ownOnly}
	draws, err := newDraws(module, s.seed)
	if err != nil {
		return err
	}
	var survivors int
	for number := 1; number <= s.count; {
		m, err := draws.next()
		if err != nil {
			return err
		}
		// The list of mutants must not depend on which of them are run, so
		// every mutant is checked for whether it compiles.
		if ok, err := t.compiles(ctx, m); err != nil {
			return err
		} else if !ok {
			continue
		}
		m.Number = number
		number++
		if s.list {
			fmt.Println(m)
			continue
		}
		if s.only != 0 && m.Number != s.only {
			continue
		}
		r, seen := done[m.key()]
		if !seen {
			if r, err = t.test(ctx, m); err != nil {
				return err
			}
			if err := appendResult(s.results, r); err != nil {
				return err
			}
		}
		r.Mutant = m // its line may have changed
		if !r.Killed {
			survivors++
		}
		fmt.Println(r)
	}
	if !s.list {
		fmt.Printf("%d survived\n", survivors)
	}
	return nil
}

// result is a mutant and the outcome of its tests.
type result struct {
	Mutant mutant
	Killed bool
	By     string  // the package whose tests failed
	How    string  // the first tests that failed
	Secs   float64 // how long it took
}

func (r result) String() string {
	if r.Killed {
		return fmt.Sprintf("killed    %v\n          by %s: %s (%.0f s)", r.Mutant, r.By, r.How, r.Secs)
	}
	return fmt.Sprintf("SURVIVED  %v (%.0f s)", r.Mutant, r.Secs)
}

// readResults returns the contents of a results file, by mutant.
func readResults(path string) (map[string]result, error) {
	done := map[string]result{}
	if path == "" {
		return done, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return done, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		done[r.Mutant.key()] = r
	}
	return done, nil
}

func appendResult(path string, r result) error {
	if path == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("site", flag.ContinueOnError)
	root := flags.String("root", "../..", "the repository")
	out := flags.String("out", "", "the folder that the site is written to; empty: pages are checked alone")
	source := flags.String("source", "https://github.com/goestimator/goestimator/blob/main/", "where links to files that are no pages lead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := read(*root)
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	links := s.links()
	if *out != "" {
		if err := s.write(*out, *source); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "%d pages, %d links\n", len(s.pages), links)
	return err
}

// write writes all files of the site.
func (s *site) write(out, source string) error {
	images := s.images() // before render changes the links to those of the site
	for _, p := range s.pages {
		html, err := s.render(p, source)
		if err == nil {
			err = put(filepath.Join(out, filepath.FromSlash(p.out)), html)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	for _, image := range images {
		b, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(image)))
		if err == nil {
			err = put(filepath.Join(out, filepath.FromSlash(image)), b)
		}
		if err != nil {
			return err
		}
	}
	css, err := style()
	return errors.Join(err, put(filepath.Join(out, "style.css"), css), put(filepath.Join(out, "search.js"), s.search()))
}

func put(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

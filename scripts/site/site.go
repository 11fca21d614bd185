package main

import (
	_ "embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed nav.txt
var navigation string

// site holds all pages.
type site struct {
	root     string
	sections []section
	pages    []*page
	byPath   map[string]*page
}

// section is a heading of the navigation.
type section struct {
	title string
	pages []*page
}

// page is a Markdown file.
type page struct {
	path, out string // path of the file in the repository and in the site
	title     string
	text      []byte
	tree      ast.Node
	headings  []heading
}

type heading struct{ id, text string }

// read reads the pages that nav.txt names.
func read(root string) (*site, error) {
	s := &site{root: root, byPath: map[string]*page{}}
	named := strings.Fields(navigation)
	for line := range strings.Lines(navigation) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasSuffix(line, ".md"):
			if err := s.add(line); err != nil {
				return nil, err
			}
		case !strings.HasPrefix(line, "docs"):
			s.sections = append(s.sections, section{title: line})
		default:
			files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(line), "*.md"))
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				if name := path.Join(line, filepath.Base(f)); !slices.Contains(named, name) {
					if err := s.add(name); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return s, nil
}

// add reads a page into the last section.
func (s *site) add(name string) error {
	if len(s.sections) == 0 || s.byPath[name] != nil {
		return fmt.Errorf("nav.txt: %s stands before a heading, or twice", name)
	}
	text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	p := parse(name, text)
	last := &s.sections[len(s.sections)-1]
	last.pages = append(last.pages, p)
	s.pages = append(s.pages, p)
	s.byPath[name] = p
	return nil
}

// outOf returns the path of a page in the site, with docs as the top folder.
func outOf(name string) string {
	if name == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md") + ".html"
}

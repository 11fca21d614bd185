package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// link is a link or an image of a page.
type link struct {
	node  ast.Node
	to    string
	image bool
}

// linksOf returns a page's links to files of the repository or to places in the page.
func linksOf(p *page) []link {
	var out []link
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		var l link
		switch n := n.(type) {
		case *ast.Link:
			l = link{node: n, to: string(n.Destination)}
		case *ast.Image:
			l = link{node: n, to: string(n.Destination), image: true}
		}
		if entering && l.node != nil {
			if u, err := url.Parse(l.to); err != nil || u.Scheme == "" && u.Host == "" {
				out = append(out, l)
			}
		}
		return ast.WalkContinue, nil
	})
	return out
}

// target splits a link of a page into a path in the repository and an anchor.
func (p *page) target(to string) (name, anchor string, err error) {
	u, err := url.Parse(to)
	if err != nil {
		return "", "", err
	}
	if u.Path == "" {
		return p.path, u.Fragment, nil
	}
	name = path.Join(path.Dir(p.path), u.Path)
	if strings.HasPrefix(name, "..") || path.IsAbs(u.Path) {
		return "", "", errors.New("it leads out of the repository")
	}
	return name, u.Fragment, nil
}

// check checks all links.
func (s *site) check() error {
	var errs []error
	for _, p := range s.pages {
		for _, l := range linksOf(p) {
			if err := s.follow(p, l.to); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: link to %s: %w", p.path, p.line(l.node), l.to, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (s *site) follow(p *page, to string) error {
	name, anchor, err := p.target(to)
	if err != nil {
		return err
	}
	if other := s.byPath[name]; other != nil {
		if anchor != "" && !slices.ContainsFunc(other.headings, func(h heading) bool { return h.id == anchor }) {
			return fmt.Errorf("%s has no heading #%s", name, anchor)
		}
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(name))); err != nil {
		return fmt.Errorf("there is no %s", name)
	}
	return nil
}

// line returns the line number of a node in its page, from 1.
func (p *page) line(n ast.Node) int {
	for at := n; at != nil; at = at.Parent() {
		for c := at.FirstChild(); c != nil; c = c.FirstChild() {
			if t, ok := c.(*ast.Text); ok {
				return 1 + bytes.Count(p.text[:t.Segment.Start], []byte("\n"))
			}
		}
	}
	return 1
}

// links returns the number of links that check checks.
func (s *site) links() int {
	n := 0
	for _, p := range s.pages {
		n += len(linksOf(p))
	}
	return n
}

// images returns the files of the images in the pages.
func (s *site) images() []string {
	var out []string
	for _, p := range s.pages {
		for _, l := range linksOf(p) {
			if name, _, err := p.target(l.to); l.image && err == nil && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"path"
	"strings"

	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark/ast"
)

//go:embed page.html
var pageHTML string

//go:embed style.css
var pageCSS []byte

//go:embed search.js
var searchJS []byte

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// navEntry is an entry for a page in the navigation.
type navEntry struct {
	Title, To string
	Here      bool
}

type navSection struct {
	Title   string
	Entries []navEntry
	Open    bool
}

// render returns a page as HTML. Its links lead to pages and images of the site, or to the source.
func (s *site) render(p *page, source string) ([]byte, error) {
	top := strings.Repeat("../", strings.Count(p.out, "/"))
	for _, l := range linksOf(p) {
		name, anchor, err := p.target(l.to)
		if err != nil {
			return nil, err
		}
		to := source + name
		if other := s.byPath[name]; other != nil {
			to = top + other.out
		} else if l.image {
			to = top + name
		}
		if anchor != "" {
			to += "#" + anchor
		}
		switch n := l.node.(type) {
		case *ast.Link:
			n.Destination = []byte(to)
		case *ast.Image:
			n.Destination = []byte(to)
		}
	}
	var body, out bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.text, p.tree); err != nil {
		return nil, err
	}
	err := pageTemplate.Execute(&out, map[string]any{"Title": p.title, "Top": top, "Body": template.HTML(body.String()), "Nav": s.nav(p, top)})
	return out.Bytes(), err
}

// nav returns the navigation of a page.
func (s *site) nav(p *page, top string) []navSection {
	var out []navSection
	for _, sec := range s.sections {
		n := navSection{Title: sec.title}
		for _, q := range sec.pages {
			e := navEntry{Title: q.title, To: top + q.out, Here: q == p}
			n.Open = n.Open || e.Here
			n.Entries = append(n.Entries, e)
		}
		out = append(out, n)
	}
	return out
}

// search returns the script of the search box, with titles and headings of all pages.
func (s *site) search() []byte {
	var index [][3]string // page, heading, where
	for _, p := range s.pages {
		for _, h := range p.headings {
			index = append(index, [3]string{p.title, h.text, path.Clean(p.out) + "#" + h.id})
		}
	}
	b, _ := json.Marshal(index) // strings can always be encoded
	return append([]byte("const index = "+string(b)+";\n"), searchJS...)
}

// style returns the style sheet, with the colours of code for light and dark screens.
func style() ([]byte, error) {
	var b bytes.Buffer
	b.Write(pageCSS)
	if err := formatter.WriteCSS(&b, styles.Get("github")); err != nil {
		return nil, err
	}
	b.WriteString("@media (prefers-color-scheme: dark) {\n")
	if err := formatter.WriteCSS(&b, styles.Get("github-dark")); err != nil {
		return nil, err
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/alecthomas/chroma/v2"
	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(code{}, 100))))

// parse parses a page.
func parse(name string, source []byte) *page {
	p := &page{path: name, out: outOf(name), title: name, text: source}
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&ids{map[string]int{}}))))
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			id, _ := h.AttributeString("id")
			b, _ := id.([]byte)
			p.headings = append(p.headings, heading{string(b), plain(h, source)})
			if h.Level == 1 && len(p.headings) == 1 {
				p.title = plain(h, source)
			}
		}
		return ast.WalkContinue, nil
	})
	return p
}

// plain returns the text of a node without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// ids makes anchors of headings like GitHub, so that links work both there and here.
type ids struct{ seen map[string]int }

// Generate implements parser.IDs.
func (i *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(string(value)))
	n := i.seen[id]
	i.seen[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (i *ids) Put(value []byte) { i.seen[string(value)]++ }

// code renders fenced blocks with syntax colours.
type code struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (code) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		f := n.(*ast.FencedCodeBlock)
		var b bytes.Buffer
		for i := range f.Lines().Len() {
			line := f.Lines().At(i)
			b.Write(line.Value(source))
		}
		return ast.WalkSkipChildren, highlight(w, string(f.Language(source)), b.String())
	})
}

var formatter = chromahtml.New(chromahtml.WithClasses(true))

func highlight(w util.BufWriter, language, text string) error {
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, text)
	if err != nil {
		return err
	}
	return formatter.Format(w, styles.Get("github"), tokens)
}

package snippets

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	Line     int    // of the opening fence, from 1
	Language string // "" if the fence has none
	File     string // the file to write Text to
	Skip     string // why it is not run
	Output   bool   // Text is the output of the block before
	Text     string // with a newline at its end
}

var options = regexp.MustCompile(`^(?:(output)|file=(\S+)|skip="([^"]+)")(?:\s+|$)`)

// Blocks returns the fenced blocks of a page. It fails for unclosed fences and unknown options.
func Blocks(page string) ([]Block, error) {
	var out []Block
	var open *Block
	fence := ""
	n := 0
	for line := range strings.Lines(page) {
		n++
		text := strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimLeft(text, " ")
		switch {
		case open == nil && strings.HasPrefix(trimmed, "```"):
			fence = text[:len(text)-len(trimmed)]
			b, err := opened(strings.TrimLeft(trimmed, "`"))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			b.Line = n
			open = &b
		case open != nil && trimmed == "```":
			out = append(out, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(text, fence) + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block does not end", open.Line)
	}
	return out, nil
}

// opened reads the info string of a fence.
func opened(info string) (b Block, err error) {
	b.Language, info, _ = strings.Cut(strings.TrimSpace(info), " ")
	for info = strings.TrimSpace(info); info != ""; {
		m := options.FindStringSubmatch(info)
		switch {
		case m == nil:
			return b, fmt.Errorf(`option %q: expected output, file=NAME or skip="REASON"`, info)
		case m[1] != "":
			b.Output = true
		case m[2] != "":
			b.File = m[2]
		default:
			b.Skip = m[3]
		}
		info = info[len(m[0]):]
	}
	return b, nil
}

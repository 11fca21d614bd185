package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
)

// StateFile is the name of the text file that lists a directory's checkpoints.
const StateFile = "checkpoint"

// state is TensorFlow's CheckpointState message
// (tensorflow/python/training/checkpoint_state.proto). Paths are relative to the
// file's directory if possible.
type state struct {
	latest        string
	all           []string  // oldest first, the last is latest
	times         []float64 // of all, in seconds since 1970
	lastPreserved float64
	// deleting lists checkpoints whose deletion was about to begin when the list
	// was written. It is stored in comments, which TensorFlow skips.
	deleting []string
	spared   string // a checkpoint that is off the list only because it is spared, "" if there is none; also in a comment
}

const (
	deletingComment = "# deleting "
	sparedComment   = "# spared "
)

// format writes the message as protocol buffer text, like TensorFlow.
func (s *state) format() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "model_checkpoint_path: %s\n", quote(s.latest))
	for _, p := range s.all {
		fmt.Fprintf(&b, "all_model_checkpoint_paths: %s\n", quote(p))
	}
	for _, t := range s.times {
		fmt.Fprintf(&b, "all_model_checkpoint_timestamps: %s\n", strconv.FormatFloat(t, 'f', -1, 64))
	}
	if s.lastPreserved != 0 {
		fmt.Fprintf(&b, "last_preserved_timestamp: %s\n", strconv.FormatFloat(s.lastPreserved, 'f', -1, 64))
	}
	for _, p := range s.deleting {
		fmt.Fprintf(&b, "%s%s\n", deletingComment, quote(p))
	}
	if s.spared != "" {
		fmt.Fprintf(&b, "%s%s\n", sparedComment, quote(s.spared))
	}
	return []byte(b.String())
}

func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// parseState parses protocol buffer text. It ignores unknown fields; a file
// without model_checkpoint_path is an error.
func parseState(text []byte) (*state, error) {
	s := &state{}
	rest := string(text)
	for {
		rest = skipSpace(rest)
		if rest == "" {
			break
		}
		name, tail, ok := strings.Cut(rest, ":")
		name = strings.TrimSpace(name)
		if !ok || !isIdentifier(name) {
			return nil, fmt.Errorf("expected a field name and a colon at %.20q", rest)
		}
		value, tail, err := nextValue(skipSpace(tail))
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		if err := s.set(name, value); err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		rest = tail
	}
	for line := range strings.Lines(string(text)) {
		if quoted, ok := strings.CutPrefix(line, deletingComment); ok {
			if p, _, err := nextValue(quoted); err == nil {
				s.deleting = append(s.deleting, p)
			}
		}
		if quoted, ok := strings.CutPrefix(line, sparedComment); ok {
			if p, _, err := nextValue(quoted); err == nil {
				s.spared = p
			}
		}
	}
	if s.latest == "" {
		return nil, fmt.Errorf("model_checkpoint_path is missing")
	}
	return s, nil
}

func (s *state) set(name, value string) (err error) {
	switch name {
	case "model_checkpoint_path":
		s.latest = value
	case "all_model_checkpoint_paths":
		s.all = append(s.all, value)
	case "all_model_checkpoint_timestamps":
		var t float64
		t, err = strconv.ParseFloat(value, 64)
		s.times = append(s.times, t)
	case "last_preserved_timestamp":
		s.lastPreserved, err = strconv.ParseFloat(value, 64)
	}
	return err
}

// skipSpace skips white space, field separators and comments.
func skipSpace(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n,;")
		if !strings.HasPrefix(s, "#") {
			return s
		}
		_, s, _ = strings.Cut(s, "\n")
	}
}

func isIdentifier(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// nextValue splits a quoted string or a bare token off s.
func nextValue(s string) (value, rest string, err error) {
	if s == "" {
		return "", "", fmt.Errorf("the value is missing")
	}
	if s[0] != '"' && s[0] != '\'' {
		n := strings.IndexAny(s, " \t\r\n,;#")
		if n < 0 {
			n = len(s)
		}
		return s[:n], s[n:], nil
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\n':
			return "", "", fmt.Errorf("a line ends inside a string")
		case s[0]:
			value, err = unquote(s[1:i], s[0])
			return value, s[i+1:], err
		}
	}
	return "", "", fmt.Errorf("the closing quote is missing")
}

// unquote resolves the escapes of protocol buffer text. They are Go's, except
// that both quotes may be escaped.
func unquote(s string, quote byte) (string, error) {
	var out []byte
	for s != "" {
		if len(s) >= 2 && s[0] == '\\' && strings.IndexByte(`'"?`, s[1]) >= 0 {
			out, s = append(out, s[1]), s[2:]
			continue
		}
		c, multibyte, tail, err := strconv.UnquoteChar(s, quote)
		if err != nil {
			return "", fmt.Errorf("bad escape at %.10q", s)
		}
		if multibyte {
			out = append(out, string(c)...)
		} else {
			out = append(out, byte(c))
		}
		s = tail
	}
	return string(out), nil
}

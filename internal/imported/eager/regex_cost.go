package eager

import (
	"math"
	"regexp/syntax"
)

// The most that package regexp needs for an instruction of a compiled expression, for a range of a class, and for an instruction while it
// matches, besides the positions of the groups.
const (
	instBytes   = 256
	rangeBytes  = 16
	threadBytes = 64
)

// expressionSize is the size of a compiled expression: a few characters may stand for millions of instructions.
type expressionSize struct{ insts, ranges, groups float64 }

// sizeOfExpression returns the size of a pattern; the error is a syntax error.
func sizeOfExpression(pattern string) (s expressionSize, err error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return s, err
	}
	s.add(tree, 1)
	return s, nil
}

// add adds an expression that is repeated times times.
func (s *expressionSize) add(re *syntax.Regexp, times float64) {
	insts := 2.0
	switch re.Op {
	case syntax.OpLiteral:
		insts += float64(len(re.Rune))
	case syntax.OpCharClass:
		s.ranges += times * float64(len(re.Rune))
	case syntax.OpCapture:
		s.groups++
	case syntax.OpRepeat:
		times *= float64(max(re.Min, re.Max, 1))
	}
	s.insts += times * insts
	for _, sub := range re.Sub {
		s.add(sub, times)
	}
}

// compiled returns the size in bytes of the compiled expression.
func (s expressionSize) compiled() int { return bytesUpTo(s.insts*instBytes + s.ranges*rangeBytes) }

// match returns the most that one search takes: each instruction may be reached with its own groups.
func (s expressionSize) match(withGroups bool) int {
	each := float64(threadBytes)
	if withGroups {
		each += 16 * (1 + s.groups)
	}
	return bytesUpTo(s.insts * each)
}

func bytesUpTo(n float64) int { return int(min(n, math.MaxInt>>2)) }

// payExpression pays for compiling a pattern, and for a search.
func (c call) payExpression(pattern string, withGroups bool) error {
	size, err := sizeOfExpression(pattern)
	if err != nil {
		return nil // compiling it returns the error
	}
	return c.room(size.compiled()+size.match(withGroups), 1)
}

package eager

import (
	"math"
	"regexp/syntax"
)

// What package regexp takes at most for an instruction of a compiled expression, for a pair of characters of a class, and for an instruction
// while it matches, besides the places of the groups.
const (
	instBytes   = 256
	rangeBytes  = 16
	threadBytes = 64
)

// expressionSize is what an expression becomes: a few characters may stand for millions of instructions.
type expressionSize struct{ insts, ranges, groups float64 }

// sizeOfExpression returns the size of a pattern; the error is that of its syntax.
func sizeOfExpression(pattern string) (s expressionSize, err error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return s, err
	}
	s.add(tree, 1)
	return s, nil
}

// add adds an expression that stands there so many times.
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

// compiled is what the compiled expression takes, in bytes.
func (s expressionSize) compiled() int { return bytesUpTo(s.insts*instBytes + s.ranges*rangeBytes) }

// match is what one search takes at most: each instruction may be reached with groups of its own.
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
		return nil // who compiles it says so
	}
	return c.room(size.compiled()+size.match(withGroups), 1)
}

package optimizers

import (
	"errors"
	"fmt"
	"maps"

	"github.com/goestimator/goestimator/internal/platform/params"
)

// mostParts bounds the number of parts of a composed schedule.
const mostParts = 64

// stepsOfPart is the key for the number of steps of a sequence's part.
const stepsOfPart = "steps"

// readParts returns the specs of a composed schedule's parts, none if they cannot be read.
func readParts(p *params.Reader) []any {
	// A config section always has a default for initial; the parts replace it.
	p.Float("initial", 0)
	if !p.Has("parts") {
		p.Any("parts")
		p.Refuse("parts", errors.New("expected a list of schedules"))
		return nil
	}
	return params.Get(p, "parts", fmt.Sprintf("a list of 1 to %d schedules", mostParts), nil, func(x any) ([]any, bool) {
		list, ok := x.([]any)
		return list, ok && len(list) > 0 && len(list) <= mostParts
	})
}

// readPart makes part i of a schedule.
func readPart(p *params.Reader, i int, spec any) Schedule {
	s, err := NewSchedule(spec)
	if err != nil {
		p.Refuse("parts", fmt.Errorf("part %d: %w", i+1, err))
		return Constant(0)
	}
	return s
}

// readSequence reads schedules that run one after the other.
func readSequence(p *params.Reader) Schedule {
	parts := readParts(p)
	var s Sequence
	end := int64(0)
	for i, part := range parts {
		if i < len(parts)-1 {
			n, rest, err := cutSteps(part)
			if err != nil {
				p.Refuse("parts", fmt.Errorf("part %d: %w", i+1, err))
				return Constant(0)
			}
			end, part = end+n, rest
			s.Boundaries = append(s.Boundaries, end)
		}
		s.Schedules = append(s.Schedules, readPart(p, i, part))
	}
	if parts == nil {
		return Constant(0)
	}
	return s
}

// cutSteps removes the number of steps from a part.
func cutSteps(part any) (steps int64, rest map[string]any, err error) {
	m, ok := part.(map[string]any)
	n, isNumber := params.Integer(m[stepsOfPart])
	if !ok || !isNumber || n < 1 || n > 1<<40 {
		return 0, nil, fmt.Errorf("%s: expected a whole number >= 1 for each part but the last, got %v", stepsOfPart, m[stepsOfPart])
	}
	rest = maps.Clone(m)
	delete(rest, stepsOfPart)
	return int64(n), rest, nil
}

// readProduct reads schedules that are multiplied.
func readProduct(p *params.Reader) Schedule {
	var s Schedule
	for i, part := range readParts(p) {
		next := readPart(p, i, part)
		if s == nil {
			s = next
		} else {
			s = Scaled{s, next}
		}
	}
	if s == nil {
		return Constant(0)
	}
	return s
}

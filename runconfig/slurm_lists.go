package runconfig

import (
	"fmt"
	"strconv"
	"strings"
)

// maxSlurmTasks bounds the nodes and tasks of a step, so that a broken list cannot
// use up all memory.
const maxSlurmTasks = 1 << 16

// expandHosts returns the names of a Slurm host list, for example a1, a2, a3, a05, b7
// for a[1-3,05],b7. Numbers keep their leading zeros. If a name has several brackets,
// the last one varies fastest.
func expandHosts(list string) ([]string, error) {
	parts, err := splitHosts(list)
	if err != nil {
		return nil, err
	}
	var hosts []string
	for _, part := range parts {
		names, err := expandHost(part)
		if err != nil {
			return nil, fmt.Errorf("host list %q: %w", list, err)
		}
		if hosts = append(hosts, names...); len(hosts) > maxSlurmTasks {
			return nil, fmt.Errorf("host list %q: expected at most %d hosts", list, maxSlurmTasks)
		}
	}
	return hosts, nil
}

// splitHosts splits at commas outside of brackets.
func splitHosts(list string) ([]string, error) {
	var parts []string
	start, inside := 0, false
	for i, r := range list + "," {
		switch {
		case r == '[' && inside, r == ']' && !inside:
			return nil, fmt.Errorf("host list %q: %q at byte %d has no partner", list, r, i)
		case r == '[' || r == ']':
			inside = r == '['
		case r == ',' && !inside:
			if i == start {
				return nil, fmt.Errorf("host list %q: expected a host at byte %d", list, i)
			}
			parts = append(parts, list[start:i])
			start = i + 1
		}
	}
	if inside {
		return nil, fmt.Errorf("host list %q: a [ is not closed", list)
	}
	return parts, nil
}

// expandHost expands one name, whose brackets must match.
func expandHost(name string) ([]string, error) {
	names := []string{""}
	for name != "" {
		plain, rest, found := strings.Cut(name, "[")
		ranges, after, _ := strings.Cut(rest, "]")
		values := []string{""}
		if found {
			var err error
			if values, err = expandRanges(ranges); err != nil {
				return nil, err
			}
		}
		if len(names)*len(values) > maxSlurmTasks {
			return nil, fmt.Errorf("expected at most %d hosts", maxSlurmTasks)
		}
		var next []string
		for _, n := range names {
			for _, v := range values {
				next = append(next, n+plain+v)
			}
		}
		names, name = next, after
	}
	return names, nil
}

// expandRanges expands the content of brackets, such as 1-3,05.
func expandRanges(text string) ([]string, error) {
	var out []string
	for _, part := range strings.Split(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		first, err1 := strconv.ParseUint(low, 10, 31)
		last, err2 := strconv.ParseUint(high, 10, 31)
		if err1 != nil || err2 != nil || first > last {
			return nil, fmt.Errorf("got [%s], expected numbers and ranges of them such as [1-3,5]", text)
		}
		if last-first >= maxSlurmTasks || len(out)+int(last-first) >= maxSlurmTasks {
			return nil, fmt.Errorf("expected at most %d hosts", maxSlurmTasks)
		}
		for i := first; i <= last; i++ {
			out = append(out, fmt.Sprintf("%0*d", len(low), i))
		}
	}
	return out, nil
}

// expandTasksPerNode expands a list, such as 2(x3),1 to 2, 2, 2, 1.
func expandTasksPerNode(list string) ([]int, error) {
	var out []int
	for _, part := range strings.Split(list, ",") {
		count, times, repeated := strings.Cut(part, "(x")
		n, err := strconv.ParseUint(count, 10, 31)
		bad := err != nil || n > maxSlurmTasks
		repeat := uint64(1)
		if repeated {
			times, closed := strings.CutSuffix(times, ")")
			repeat, err = strconv.ParseUint(times, 10, 31)
			bad = bad || !closed || err != nil || repeat == 0
		}
		if bad {
			return nil, fmt.Errorf("tasks per node: got %q in %q, expected a number such as 2, or 2(x3)", part, list)
		}
		if uint64(len(out))+repeat > maxSlurmTasks {
			return nil, fmt.Errorf("tasks per node %q: expected at most %d nodes", list, maxSlurmTasks)
		}
		for range repeat {
			out = append(out, int(n))
		}
	}
	return out, nil
}

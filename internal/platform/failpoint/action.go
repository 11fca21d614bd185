package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// action is the action of an enabled point.
type action struct {
	kind string // error, exit, kill, stop
	text string
	code int
	only int64 // the passage that counts; 0: every one
	hits atomic.Int64
}

func parseAction(spec string) (*action, error) {
	spec = strings.TrimSpace(spec)
	a := &action{}
	if head, n, ok := strings.Cut(spec, "@"); ok {
		v, err := strconv.ParseInt(n, 10, 64)
		if err != nil || v < 1 {
			return nil, fmt.Errorf("passage %q: expected a whole number >= 1 after @", n)
		}
		a.only, spec = v, head
	}
	kind, arg, hasArg := strings.Cut(spec, "(")
	if hasArg && !strings.HasSuffix(arg, ")") {
		return nil, fmt.Errorf("action %q: the closing parenthesis is missing", spec)
	}
	arg = strings.TrimSuffix(arg, ")")
	a.kind = kind
	switch kind {
	case "error":
		a.text = arg
	case "kill", "stop":
	case "exit":
		code, err := strconv.Atoi(arg)
		if err != nil {
			return nil, fmt.Errorf("action %q: expected exit(code)", spec)
		}
		a.code = code
	default:
		return nil, fmt.Errorf("unknown action %q: expected error, error(text), exit(code), kill or stop", spec)
	}
	return a, nil
}

func (a *action) run(name string) error {
	if hit := a.hits.Add(1); a.only != 0 && hit != a.only {
		return nil
	}
	switch a.kind {
	case "exit":
		os.Exit(a.code)
	case "kill":
		// Nothing may run after this point, so wait for the signal here.
		if p, err := os.FindProcess(os.Getpid()); err == nil && p.Kill() == nil {
			select {}
		}
		os.Exit(137)
	case "stop":
		return stop()
	}
	if a.text == "" {
		return fmt.Errorf("failpoint %s: %w", name, ErrInjected)
	}
	return fmt.Errorf("failpoint %s: %w: %s", name, ErrInjected, a.text)
}

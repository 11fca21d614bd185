package replica

import "fmt"

// RestartPolicy says when a task that ended is restarted.
type RestartPolicy string

// The restart policies of TFJob.
const (
	Always    RestartPolicy = "Always"
	OnFailure RestartPolicy = "OnFailure"
	Never     RestartPolicy = "Never"
	ExitCode  RestartPolicy = "ExitCode"
)

// policies maps the names used on command lines.
var policies = map[string]RestartPolicy{"always": Always, "on-failure": OnFailure, "never": Never, "exit-code": ExitCode}

// ParseRestartPolicy returns the policy with a command-line name: never,
// on-failure, exit-code or always.
func ParseRestartPolicy(name string) (RestartPolicy, error) {
	if p, ok := policies[name]; ok {
		return p, nil
	}
	return "", fmt.Errorf("restart policy: got %q, expected never, on-failure, exit-code or always", name)
}

// Restarts reports whether a task that ended with this exit code is restarted.
func (p RestartPolicy) Restarts(code int) bool {
	switch p {
	case Always:
		return true
	case OnFailure:
		return code != 0
	case ExitCode:
		return Retryable(code)
	}
	return false
}

// Retryable reports whether an exit code means that a restart may help: 128 and
// more, which are signals and the program's own codes in that range.
func Retryable(code int) bool { return code >= 128 }

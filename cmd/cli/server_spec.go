package cli

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// parseClusterSpec parses a cluster in the form of TensorFlow's gRPC server: jobs
// separated by ",", each job|host:port;host:port. It returns each job's addresses.
func parseClusterSpec(text string) (map[string][]string, error) {
	jobs, taken := map[string][]string{}, map[string]string{}
	for _, part := range strings.Split(text, ",") {
		job, list, found := strings.Cut(part, "|")
		switch {
		case !found:
			return nil, fmt.Errorf("got %q, expected job|host:port;host:port", part)
		case job == "" || strings.ContainsFunc(job, notInJob):
			return nil, fmt.Errorf("got job %q, expected letters, digits and underscores", job)
		case jobs[job] != nil:
			return nil, fmt.Errorf("job %s is listed twice", job)
		}
		for i, address := range strings.Split(list, ";") {
			if err := checkAddress(address); err != nil {
				return nil, fmt.Errorf("%s %d: %w", job, i, err)
			}
			if other := taken[address]; other != "" {
				return nil, fmt.Errorf("%s %d: address %s is that of %s too", job, i, address, other)
			}
			taken[address] = fmt.Sprintf("%s %d", job, i)
			jobs[job] = append(jobs[job], address)
		}
	}
	return jobs, nil
}

// checkAddress checks an address of the form host:port.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("got %q, expected host:port", address)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if host == "" || strings.ContainsFunc(host, notInHost) || err != nil || n == 0 {
		return fmt.Errorf("got %q, expected a host name or IP address and a port from 1 to 65535", address)
	}
	return nil
}

func notInJob(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_')
}

func notInHost(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_:%", r))
}

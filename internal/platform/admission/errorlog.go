package admission

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Limits on log lines that strangers cause.
const (
	errorLines = 10      // at once, then one a second
	errorBytes = 4 << 10 // of a line
)

// ErrorLog returns a logger for the errors of an http.Server, which become warnings of l. Strangers can cause such errors, for example by
// failed handshakes, so few are logged at a time; the next line says how many were left out. Long lines are cut.
func ErrorLog(l *slog.Logger) *log.Logger {
	return log.New(&sparseLog{log: l, now: time.Now, room: errorLines, at: time.Now()}, "", 0)
}

type sparseLog struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	room    int // lines that may still be written
	at      time.Time
	leftOut int
}

// Write implements io.Writer for lines.
func (s *sparseLog) Write(line []byte) (int, error) {
	if leftOut, ok := s.take(); ok {
		text := strings.TrimSuffix(strings.ToValidUTF8(string(line[:min(len(line), errorBytes)]), ""), "\n")
		var more []any
		if leftOut > 0 {
			more = []any{"left_out", leftOut}
		}
		s.log.Warn(text, more...)
	}
	return len(line), nil
}

// take reports whether a line may be written, and how many were left out before it.
func (s *sparseLog) take() (leftOut int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if gained := now.Sub(s.at) / time.Second; gained > 0 {
		s.room, s.at = int(min(time.Duration(s.room)+gained, errorLines)), now
	}
	if s.room == 0 {
		s.leftOut++
		return 0, false
	}
	s.room--
	leftOut, s.leftOut = s.leftOut, 0
	return leftOut, true
}

package servable

import (
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Version selects a version of a model. The zero Version selects none: it means the latest version or, if the model's traffic is
// divided, the one whose turn it is.
type Version struct {
	Number int64  // if Exact
	Exact  bool   // this number
	Label  string // or the version with this label
	Key    string // if no version is selected and traffic is divided: requests with the same key get the same version
	Main   bool   // likewise, instead of Key: the version that gets most requests
}

// A Handle keeps one version loaded until it is released.
type Handle interface {
	ID() ID
	Model() Model
	Release()
}

// A Source hands out loaded models. Its errors carry a gRPC status and TensorFlow Serving's texts.
type Source interface {
	Acquire(name string, v Version) (Handle, error)
}

// State is the state of a version; the numbers equal ModelVersionStatus.State's.
type State int

// The states, in the order in which a version passes through them.
const (
	Start     State = 10
	Loading   State = 20
	Available State = 30
	Unloading State = 40
	End       State = 50
)

// Status is the status of a version.
type Status struct {
	ID    ID
	State State
	Err   error // why the version ended; carries a gRPC status
}

// A Catalog lists models and their versions.
type Catalog interface {
	// Models returns the names, sorted.
	Models() []string
	// Status returns the versions of a model, the newest first; an unknown model has none.
	Status(name string) []Status
}

// Memory is a Source and a Catalog of given models, all available: the twin in memory.
type Memory struct {
	mu     sync.Mutex
	models map[ID]Model
}

var (
	_ Source  = (*Memory)(nil)
	_ Catalog = (*Memory)(nil)
)

// Set makes m the model with that id.
func (s *Memory) Set(id ID, m Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.models == nil {
		s.models = map[ID]Model{}
	}
	s.models[id] = m
}

// Acquire implements Source; no version has a label.
func (s *Memory) Acquire(name string, v Version) (Handle, error) {
	if v.Label != "" {
		return nil, status.Errorf(codes.InvalidArgument, "Unrecognized servable version label: %s", v.Label)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.statuses(name) {
		if !v.Exact || st.ID.Version == v.Number {
			return memoryHandle{st.ID, s.models[st.ID]}, nil
		}
	}
	return nil, NotFound(name, v)
}

// Models implements Catalog.
func (s *Memory) Models() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for id := range s.models {
		names = append(names, id.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Status implements Catalog.
func (s *Memory) Status(name string) []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statuses(name)
}

func (s *Memory) statuses(name string) []Status {
	var out []Status
	for id := range s.models {
		if id.Name == name {
			out = append(out, Status{ID: id, State: Available})
		}
	}
	slices.SortFunc(out, func(a, b Status) int { return int(b.ID.Version - a.ID.Version) })
	return out
}

type memoryHandle struct {
	id    ID
	model Model
}

func (h memoryHandle) ID() ID       { return h.id }
func (h memoryHandle) Model() Model { return h.model }
func (h memoryHandle) Release()     {}

// NotFound is the error of a Source for a version that is not available.
func NotFound(name string, v Version) error {
	if v.Exact {
		return status.Errorf(codes.NotFound, "Servable not found for request: Specific(%s, %d)", name, v.Number)
	}
	return status.Errorf(codes.NotFound, "Servable not found for request: Latest(%s)", name)
}

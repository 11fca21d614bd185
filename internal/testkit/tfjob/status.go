package tfjob

import (
	"fmt"
	"slices"
)

// ConditionType is the type of a condition.
type ConditionType string

// The conditions of a job.
const (
	Created    ConditionType = "Created"
	Running    ConditionType = "Running"
	Restarting ConditionType = "Restarting"
	Succeeded  ConditionType = "Succeeded"
	Failed     ConditionType = "Failed"
)

// Condition is a fact about a job, at present or in the past.
type Condition struct {
	Type    ConditionType
	True    bool
	Reason  string // for example TFJobFailed
	Message string
}

// Counts are a replica type's pods by phase.
type Counts struct{ Active, Succeeded, Failed int }

// Status is the state of a job.
type Status struct {
	Conditions []Condition // in order of occurrence; Running and Restarting replace each other
	History    []Condition // every condition that began to hold, as of the end of a pass of the operator
	Replicas   map[string]Counts
	Pods       []Pod
}

// Pod is the state of one replica.
type Pod struct {
	Type       string
	Index      int
	Phase      Phase
	PID        int // of the running process; 0: none
	ExitCode   int // of the last process that ended
	Containers int // restarts in place by the kubelet, under Always and OnFailure
	Recreated  int // times that the operator deleted and recreated the pod
}

// Restarts is how often the replica was restarted, by the kubelet or the
// operator.
func (p Pod) Restarts() int { return p.Containers + p.Recreated }

// Phase is the phase of a pod.
type Phase string

// The phases of a pod. Deleted is for a pod whose job is finished.
const (
	PodPending   Phase = "Pending"
	PodRunning   Phase = "Running"
	PodSucceeded Phase = "Succeeded"
	PodFailed    Phase = "Failed"
	PodDeleted   Phase = "Deleted"
)

// Is reports whether a condition holds.
func (s Status) Is(c ConditionType) bool {
	return slices.ContainsFunc(s.Conditions, func(x Condition) bool { return x.Type == c && x.True })
}

// Finished reports whether the job has succeeded or failed.
func (s Status) Finished() bool { return s.Is(Succeeded) || s.Is(Failed) }

// Was reports whether a condition ever held.
func (s Status) Was(c ConditionType) bool {
	return slices.ContainsFunc(s.History, func(x Condition) bool { return x.Type == c })
}

// Message is the message of a condition; empty if the condition was never added.
func (s Status) Message(c ConditionType) string {
	for _, x := range slices.Backward(s.History) {
		if x.Type == c {
			return x.Message
		}
	}
	return ""
}

// Pod returns the state of a replica.
func (s Status) Pod(typ string, index int) (Pod, bool) {
	i := slices.IndexFunc(s.Pods, func(p Pod) bool { return p.Type == typ && p.Index == index })
	if i < 0 {
		return Pod{}, false
	}
	return s.Pods[i], true
}

// set adds a condition by the operator's rules: a failed job does not change, a
// condition that holds is not added again, Running and Restarting replace each
// other, and the end of a job makes Running false.
func (s *Status) set(typ ConditionType, message string) {
	if s.Is(Failed) || s.Is(typ) {
		return
	}
	kept := s.Conditions[:0:0]
	for _, c := range s.Conditions {
		if c.Type == typ || typ == Running && c.Type == Restarting || typ == Restarting && c.Type == Running {
			continue
		}
		if c.Type == Running && (typ == Succeeded || typ == Failed) {
			c.True = false
		}
		kept = append(kept, c)
	}
	s.Conditions = append(kept, Condition{typ, true, fmt.Sprintf("TFJob%s", typ), message})
}

// record adds to the history the conditions that hold and did not hold before.
func (s *Status) record(before Status) {
	for _, c := range s.Conditions {
		if c.True && !before.Is(c.Type) {
			s.History = append(s.History, c)
		}
	}
}

func (s Status) clone() Status {
	s.Conditions, s.History, s.Pods = slices.Clone(s.Conditions), slices.Clone(s.History), slices.Clone(s.Pods)
	counts := map[string]Counts{}
	for typ, c := range s.Replicas {
		counts[typ] = c
	}
	s.Replicas = counts
	return s
}

package manager

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// lifecycle holds the versions of one model and their states: a state machine without files,
// goroutines or clocks. Its owner locks it.
type lifecycle struct {
	name     string
	policy   Policy
	versions []*entry // none that has ended, except aspired ones that failed
	ended    func(servable.Status)
}

// errAbandoned is the error of a version that was no longer wanted before it was loaded.
var errAbandoned = status.Error(codes.Canceled, "no longer asked for before it was loaded")

// aspire makes found the aspired versions. A version that failed starts over if its directory
// has changed since.
func (f *lifecycle) aspire(found []versionDir) {
	for _, e := range f.versions {
		e.aspired = false
	}
	for _, v := range found {
		i := slices.IndexFunc(f.versions, func(e *entry) bool {
			return e.id.Version == v.number && e.dir == v.dir && e.state != servable.Unloading // that one is on its way out
		})
		if i >= 0 && f.versions[i].state == servable.End && v.fingerprint != "" && v.fingerprint != f.versions[i].fingerprint {
			f.versions = slices.Delete(f.versions, i, i+1)
			i = -1
		}
		if i < 0 {
			f.versions = append(f.versions, newEntry(servable.ID{Name: f.name, Version: v.number}, v.dir))
			i = len(f.versions) - 1
		}
		f.versions[i].aspired = true
	}
	for _, e := range f.versions {
		if !e.aspired {
			e.abandon()
		}
	}
	f.prune()
}

// prune drops versions that are not wanted and hold nothing.
func (f *lifecycle) prune() {
	f.versions = slices.DeleteFunc(f.versions, func(e *entry) bool {
		if e.aspired || e.state != servable.Start && e.state != servable.End {
			return false
		}
		e.state = servable.End
		f.ended(servable.Status{ID: e.id, State: servable.End, Err: e.err})
		return true
	})
}

// step begins what the policy asks for; each call of begin has changed a state.
func (f *lifecycle) step(begin func(action, *entry)) {
	for {
		a, e := f.policy.next(f.versions)
		switch a {
		case nothing:
			return
		case load:
			e.state = servable.Loading
		case unload:
			e.state = servable.Unloading
		}
		begin(a, e)
	}
}

// dropFailed drops versions that failed, so that the next aspire begins them anew.
func (f *lifecycle) dropFailed() {
	f.versions = slices.DeleteFunc(f.versions, func(e *entry) bool { return e.state == servable.End })
}

// loaded records the outcome of loading e.
func (f *lifecycle) loaded(e *entry, m servable.Model, err error) {
	switch {
	case errors.Is(err, errAbandoned) && e.aspired: // wanted again since
		e.state = servable.Start
		return
	case err != nil:
		e.state, e.err = servable.End, statustext.Convert(err).Err()
		f.prune()
		return
	}
	e.state, e.model, e.since = servable.Available, m, time.Now()
}

// unloaded records that e holds nothing any more.
func (f *lifecycle) unloaded(e *entry) {
	e.state, e.aspired = servable.End, false
	f.prune()
}

// available returns the available versions, the newest first; of equal numbers the aspired one
// is first.
func (f *lifecycle) available() []*entry {
	var out []*entry
	for _, e := range f.versions {
		if e.state == servable.Available {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *entry) int {
		switch {
		case a.id.Version != b.id.Version:
			return cmp.Compare(b.id.Version, a.id.Version)
		case a.aspired != b.aspired && a.aspired:
			return -1
		case a.aspired != b.aspired:
			return 1
		}
		return 0
	})
	return out
}

// converged reports whether every aspired version is available or has ended.
func (f *lifecycle) converged() bool {
	return !slices.ContainsFunc(f.versions, func(e *entry) bool {
		return e.aspired && e.state < servable.Available
	})
}

package checkpoint

import "slices"

// spared is the checkpoint that a Saver does not delete however many are newer.
type spared struct {
	prefix   string // "" for none
	unlisted bool   // it fell off the list, and is deleted once another is spared
}

// Spare keeps a checkpoint, such as that of the best evaluation, however many are newer. It is one at a time: the one
// before is deleted if its turn has come. The next Saver of the directory keeps one that is off the list until it spares another.
func (s *Saver) Spare(prefix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.spare
	if prefix == before.prefix {
		return nil
	}
	listed := slices.ContainsFunc(s.kept, func(e Entry) bool { return e.Prefix == prefix })
	// One that is off the list, and not this Saver's, may be there for Options.KeepEveryNHours.
	s.spare = spared{prefix: prefix, unlisted: prefix != "" && !listed && s.opts.KeepEveryNHours == 0 && s.opts.MaxToKeep > 0}
	if !before.unlisted || s.opts.MaxToKeep == 0 {
		return nil
	}
	s.deleting = append(s.deleting, before.prefix)
	if err := s.writeState(); err != nil {
		return err
	}
	return s.deleteExpired()
}

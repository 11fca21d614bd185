package checkpoint

import "slices"

// spared is a checkpoint that a Saver does not delete, however many newer ones there are.
type spared struct {
	prefix   string // "" if there is none
	unlisted bool   // it left the list, and is deleted once another one is spared
}

// Spare keeps a checkpoint, such as the best evaluation's, however many newer ones there are. It spares one at a time: the previous
// one is deleted if it is due. The directory's next Saver keeps a spared checkpoint that is off the list until it spares another.
func (s *Saver) Spare(prefix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.spare
	if prefix == before.prefix {
		return nil
	}
	listed := slices.ContainsFunc(s.kept, func(e Entry) bool { return e.Prefix == prefix })
	// A checkpoint that is off the list, and not this Saver's, may be kept for Options.KeepEveryNHours.
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

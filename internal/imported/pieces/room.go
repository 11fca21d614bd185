package pieces

// Room is asked before bytes are taken: it fails where there is no room for them, or where the request has ended. nil grants all.
type Room func(bytes int) error

func (r Room) take(bytes int) error {
	if r == nil {
		return nil
	}
	return r(bytes)
}

package s3server

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

type listedObject struct {
	Key, LastModified, ETag string
	Size                    int
}

type listedPrefix struct{ Prefix string }

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listedObject
	CommonPrefixes        []listedPrefix
}

// list answers ListObjectsV2, in pages of at most 1000 names as S3 does; a token continues with the next page.
func (s *Server) list(w http.ResponseWriter, q url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix, most := q.Get("prefix"), 1000
	if n, err := strconv.Atoi(q.Get("max-keys")); err == nil {
		most = min(most, n)
	}
	var names []string
	for key := range s.objects {
		rest, ok := strings.CutPrefix(key, prefix)
		if at := strings.Index(rest, "/"); ok && q.Get("delimiter") == "/" && at >= 0 {
			key = prefix + rest[:at+1]
		}
		if ok && key >= q.Get("continuation-token") {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var out listing
	if len(names) > most {
		out.IsTruncated, out.NextContinuationToken, names = true, names[most], names[:most]
	}
	for _, name := range names {
		folder := q.Get("delimiter") == "/" && strings.HasSuffix(name, "/") && name != prefix // even if an object marks it
		if o, ok := s.objects[name]; ok && !folder {
			out.Contents = append(out.Contents, listedObject{name, o.time.Format(time.RFC3339), o.etag(), len(o.content)})
		} else {
			out.CommonPrefixes = append(out.CommonPrefixes, listedPrefix{name})
		}
	}
	s.pages++
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out) // a client that has disconnected needs no answer
}

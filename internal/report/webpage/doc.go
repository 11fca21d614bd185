// Package webpage has shared parts of the web pages: static files, and headers
// that forbid a browser to load anything from elsewhere.
package webpage

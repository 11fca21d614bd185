// Command release writes files that accompany a release binary: the licences of the modules linked into it, and a bill of materials.
//
//	release notices [-o FILE] BINARY     the texts of all licences; fails if one is unknown or copyleft
//	release sbom [-o FILE] BINARY        CycloneDX 1.5, as JSON
package main

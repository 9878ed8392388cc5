package file

// EntryCount returns how many entries A and B have together.
func (k *Key) EntryCount() int { return int((k.entries.Size - 4) / int64(k.entryBytes())) }

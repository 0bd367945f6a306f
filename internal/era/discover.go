package era

import "github.com/answerback/answerback/internal/wire"

// DiscoverRequest makes the server/discover request with which we ask a
// backend what it speaks. id is a raw token; clientInfo is a raw object, or
// nil.
func DiscoverRequest(id, clientInfo []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"method":"server/discover","params":{"_meta":{"`+metaVersion+`":"`+Latest+`",`...)
	if clientInfo != nil {
		b = append(append(b, `"`+metaClientInfo+`":`...), clientInfo...)
		b = append(b, ',')
	}
	return append(b, `"`+metaCapabilities+`":{}}}}`...)
}

// Discovery is what the gateway says of itself to server/discover.
type Discovery struct {
	Capabilities []byte // the raw object of server capabilities; nil for none
	ServerInfo   []byte // the raw object of name and version, or nil
	Instructions string
}

// DiscoverResult makes the result object of server/discover. Nobody may keep
// it for others, for what a caller sees depends on who it is.
func DiscoverResult(d Discovery) []byte {
	b := []byte(`{"resultType":"complete","supportedVersions":[`)
	for i, v := range Supported() {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, v)
	}
	b = append(b, `],"capabilities":`...)
	if d.Capabilities == nil {
		b = append(b, "{}"...)
	}
	b = append(b, d.Capabilities...)
	if d.ServerInfo != nil {
		b = append(append(b, `,"_meta":{"`+metaServerInfo+`":`...), d.ServerInfo...)
		b = append(b, '}')
	}
	if d.Instructions != "" {
		b = wire.AppendString(append(b, `,"instructions":`...), d.Instructions)
	}
	return append(b, `,"ttlMs":0,"cacheScope":"private"}`...)
}

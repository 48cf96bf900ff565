// An OpenID Connect issuer on loopback, for tests: the npm package oidc-provider, with clients that
// get access tokens by their credentials. Prints its address. A line `rotate` on the standard input
// makes new keys and forgets the old ones; `rotated` is printed then.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

const CLIENTS = {
  ada: { groups: ["engineering"], email: "ada@example.org", email_verified: true, org: "acme" },
  bob: { groups: ["sales"], email: "ada@example.org", email_verified: false, org: "globex" },
  mallory: { groups: [] },
};

// The name of a resource says for whom its tokens are made out, how they are signed, and how long
// they hold: urn:AUDIENCE:ALGORITHM:SECONDS.
function resource(name) {
  const [, audience, alg, seconds] = name.split(":");
  return {
    audience,
    scope: "sapwood:read sapwood:write sapwood:approve",
    accessTokenFormat: "jwt",
    accessTokenTTL: Number(seconds),
    jwt: { sign: { alg } },
  };
}

function key(alg) {
  const pair =
    alg === "RS256"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : alg === "ES256"
        ? generateKeyPairSync("ec", { namedCurve: "P-256" })
        : generateKeyPairSync("ed25519");
  const value = pair.privateKey.export({ format: "jwk" });
  return { ...value, kid: randomUUID(), use: "sig", alg };
}

function provider(issuer) {
  return new Provider(issuer, {
    clients: Object.keys(CLIENTS).map((name) => ({
      client_id: name,
      client_secret: "secret",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    })),
    jwks: { keys: ["RS256", "ES256", "EdDSA"].map(key) },
    scopes: ["sapwood:read", "sapwood:write", "sapwood:approve"],
    extraTokenClaims: (_, token) => CLIENTS[token.clientId],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo: (_, name) => resource(name) },
    },
  });
}

let answer;
const server = createServer((request, response) => answer(request, response));
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  answer = provider(issuer).callback();
  console.log(issuer);
  const lines = createInterface({ input: process.stdin });
  lines.on("line", () => {
    answer = provider(issuer).callback();
    console.log("rotated");
  });
  lines.on("close", () => process.exit(0));
});

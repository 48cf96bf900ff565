"""The forms of keys and tokens that can be recognised by how they begin.

Each row is a kind, the prefixes as plain texts, and the rest as a pattern. Tokens of one issuer
share a kind. A rest is either one class of characters with a minimum length, or bounded to a few
dozen characters: so a text that looks like the beginning of a token costs a bounded time.
"""

__all__ = ["FORMS", "VAGUE_FORMS"]

_W = r"[\w-]"
_A = r"[A-Za-z0-9]"
_H = r"[0-9a-f]"
_B = r"[A-Za-z0-9+/=_-]"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NOT_LONGER = r"(?![A-Za-z0-9])"

_MODEL_PROVIDERS = (
    ("anthropic-key", "sk-ant-", rf"{_W}{{20,}}"),
    ("openrouter-key", "sk-or-", rf"{_W}{{20,}}"),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_W}{{20,}}"),
    ("openai-key", "sk-", rf"{_A}{{32,}}"),
    ("openai-key", "sess-", rf"{_A}{{36,}}"),
    ("google-key", "AIza", rf"{_W}{{35}}"),
    ("google-token", "ya29.", r"[\w.-]{20,}"),
    ("google-token", "1//0", rf"{_W}{{30,}}"),
    ("google-secret", "GOCSPX-", rf"{_W}{{20,}}"),
    ("groq-key", "gsk_", rf"{_A}{{32,}}"),
    ("xai-key", "xai-", rf"{_A}{{40,}}"),
    ("perplexity-key", "pplx-", rf"{_A}{{32,}}"),
    ("huggingface-token", "hf_ api_org_", rf"{_A}{{30,}}"),
    ("replicate-token", "r8_", rf"{_A}{{37}}"),
    ("cerebras-key", "csk-", rf"{_A}{{40,}}"),
    ("nvidia-key", "nvapi-", rf"{_W}{{40,}}"),
    ("together-key", "tgp_v1_", rf"{_W}{{40,}}"),
    ("jina-key", "jina_", rf"{_A}{{40,}}"),
    ("tavily-key", "tvly-", rf"{_W}{{28,}}"),
    ("firecrawl-key", "fc-", rf"{_H}{{32}}{_NOT_LONGER}"),
    ("pinecone-key", "pcsk_", r"\w{40,}"),
    ("langsmith-key", "lsv2_pt_ lsv2_sk_", rf"{_H}{{32}}_{_H}{{10}}"),
    ("langfuse-key", "sk-lf-", _UUID),
    ("elevenlabs-key", "sk_", rf"{_H}{{48}}{_NOT_LONGER}"),
    ("anyscale-key", "esecret_", rf"{_A}{{24,}}"),
    ("runpod-key", "rpa_", rf"{_A}{{40,}}"),
    ("e2b-key", "e2b_", rf"{_H}{{40}}"),
)
_CLOUDS = (
    ("aws-key", "AKIA ASIA ABIA ACCA", rf"[A-Z0-9]{{16}}{_NOT_LONGER}"),
    ("aws-key", "ABSK", r"[A-Za-z0-9+/=]{100,}"),
    ("aws-token", "IQoJb3JpZ2lu FwoGZXIvYXdz", r"[A-Za-z0-9+/=]{40,}"),
    ("amazon-key", "amzn.mws.", _UUID),
    ("amazon-token", "Atza| Atzr|", rf"{_W}{{40,}}"),
    ("alibaba-key", "LTAI", rf"{_A}{{16,20}}{_NOT_LONGER}"),
    ("tencent-key", "AKID", rf"{_A}{{32}}{_NOT_LONGER}"),
    ("yandex-key", "AQVN", rf"{_W}{{35,38}}"),
    ("yandex-token", "y0_ y1_ y2_ y3_", rf"{_W}{{50,}}"),
    ("cloudflare-key", "v1.0-", rf"{_H}{{24}}-{_H}{{80,}}"),
    ("cloudflare-key", "cfut_ cfat_ cfk_", rf"{_W}{{40,}}"),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_H}{{64}}"),
    ("heroku-key", "HRKU-", rf"{_W}{{36,}}"),
    ("fly-token", "fo1_ fm1a_ fm1r_ fm2_", rf"{_B}{{40,}}"),
    ("netlify-token", "nfp_ nfc_ nfo_", rf"{_A}{{36,}}"),
    ("vercel-token", "vercel_blob_rw_ vcp_ vci_ vca_ vcr_ vck_", r"\w{24,}"),
    ("render-key", "rnd_", rf"{_A}{{28,}}"),
    ("supabase-key", "sbp_", r"\w{40,}"),
    ("supabase-key", "sb_secret_", rf"{_W}{{20,}}"),
    ("neon-key", "napi_", rf"{_A}{{40,}}"),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{32,}"),
    ("databricks-token", "dapi dose", rf"{_H}{{32}}{_NOT_LONGER}"),
    ("dynatrace-token", "dt0c01. dt0s01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("tailscale-key", "tskey-", r"[a-z]{2,12}-[\w-]{20,}"),
    ("pulumi-token", "pul-", rf"{_H}{{40}}"),
    ("vault-token", "hvs. hvb. hvr.", rf"{_W}{{24,}}"),
    ("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.-]{40,}"),
    ("onepassword-token", "ops_eyJ", rf"{_B}{{40,}}"),
    ("harness-token", "pat. sat.", rf"{_W}{{22}}\.{_H}{{24}}\.{_A}{{20}}"),
    ("defined-key", "dnkey-", r"[A-Za-z0-9=_-]{40,}"),
)
_CODE_HOSTS = (
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_A}{{36,}}"),
    ("github-token", "github_pat_", r"\w{22,}"),
    (
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glptt- glsoat- glcbt- glagent- glft- glimt- glffct- gloas- "
        "glwt- GR1348941",
        r"[\w.-]{20,}",
    ),
    ("atlassian-token", "ATATT3 ATCTT3 ATSTT3", r"[\w=-]{24,}"),
    ("bitbucket-token", "ATBB", rf"{_A}{{24,}}"),
    ("trello-token", "ATTA", rf"{_H}{{60,}}"),
    ("sourcegraph-token", "sgp_", r"\w{40,}"),
    ("npm-token", "npm_", rf"{_A}{{36}}"),
    ("pypi-token", "pypi-AgE", rf"{_W}{{50,}}"),
    ("rubygems-key", "rubygems_", rf"{_H}{{48}}"),
    ("crates-token", "cio", rf"{_A}{{32}}{_NOT_LONGER}"),
    ("nuget-key", "oy2", rf"[a-z0-9]{{43}}{_NOT_LONGER}"),
    ("clojars-token", "CLOJARS_", rf"{_H}{{60}}"),
    ("artifactory-key", "AKCp cmVmdGtu", rf"{_A}{{56,}}"),
    ("docker-token", "dckr_pat_ dckr_oat_", rf"{_W}{{20,}}"),
    ("circleci-token", "CCIPAT_ CCIPRJ_", rf"{_A}{{20,24}}_{_H}{{40}}"),
    ("buildkite-token", "bkua_ bkaj_", rf"{_H}{{40}}"),
    ("sonar-token", "sqp_ squ_ sqa_", rf"{_H}{{40}}"),
    ("postman-key", "PMAK-", rf"{_H}{{24}}-{_H}{{34}}"),
    ("readme-key", "rdme_", r"[a-z0-9]{60,}"),
    ("prefect-key", "pnu_ pnb_", rf"{_A}{{36}}"),
)
_SERVICES = (
    ("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-", r"[A-Za-z0-9%-]{20,}"),
    ("slack-token", "xoxe.xoxp- xoxe.xoxb- xapp-", r"[A-Za-z0-9-]{20,}"),
    ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_", rf"{_A}{{16,}}"),
    ("webhook-secret", "whsec_", r"[A-Za-z0-9+/=]{24,}"),
    ("notion-token", "ntn_ secret_", rf"{_A}{{40,}}"),
    ("sendgrid-key", "SG.", rf"{_W}{{20,24}}\.{_W}{{39,50}}"),
    ("mailgun-key", "key-", rf"{_H}{{32}}{_NOT_LONGER}"),
    ("mailersend-key", "mlsn.", rf"{_H}{{60,}}"),
    ("brevo-key", "xkeysib- xsmtpsib-", rf"{_H}{{64}}-{_A}{{16}}"),
    ("resend-key", "re_", rf"{_A}{{8,10}}_{_A}{{20,}}"),
    ("twilio-key", "SK", rf"{_H}{{32}}{_NOT_LONGER}"),
    ("square-token", "sq0atp- sq0csp- sq0idp-", rf"{_W}{{22,}}"),
    ("square-token", "EAAA", rf"{_W}{{60}}"),
    ("facebook-token", "EAAC EAAM EAAB EAAG EAAJ", rf"{_A}{{40,}}"),
    ("dropbox-token", "sl. sl.u.", rf"{_W}{{100,}}"),
    ("figma-token", "figd_ figdr_ figo_", rf"{_W}{{36,}}"),
    ("airtable-token", "pat", rf"{_A}{{14}}\.{_H}{{64}}"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"[0-9A-Fa-f]{32}"),
    ("woocommerce-key", "ck_ cs_", rf"{_H}{{40}}{_NOT_LONGER}"),
    ("linear-key", "lin_api_ lin_oauth_", rf"{_A}{{32,}}"),
    ("hubspot-token", "pat-na1- pat-eu1- pat-na2-", _UUID),
    ("contentful-token", "CFPAT-", rf"{_W}{{40,}}"),
    ("typeform-token", "tfp_", r"[\w.-]{40,}"),
    ("clickup-token", "pk_", r"\d{5,12}_[A-Z0-9]{32}"),
    ("plaid-token", "access-sandbox- access-production- access-development-", _UUID),
    ("shippo-token", "shippo_live_ shippo_test_", rf"{_H}{{40}}"),
    ("easypost-key", "EZAK EZTK", rf"{_A}{{54}}"),
    ("duffel-token", "duffel_live_ duffel_test_", rf"{_W}{{40,}}"),
    ("flutterwave-key", "FLWSECK- FLWSECK_TEST-", rf"{_W}{{12,}}"),
    ("stytch-secret", "secret-live- secret-test-", rf"{_B}{{32,}}"),
    ("launchdarkly-key", "sdk- api- mob-", _UUID),
    ("newrelic-key", "NRAK- NRJS- NRII- NRAL-", rf"{_W}{{19,}}"),
    ("grafana-token", "glsa_ glc_", rf"{_B}{{32,}}"),
    ("grafana-key", "eyJrIjoi", rf"{_B}{{60,}}"),
    ("sentry-token", "sntrys_ sntryu_ sntryi_", r"[\w+/=-]{40,}"),
    ("posthog-key", "phx_ phs_", r"\w{40,}"),
    ("honeycomb-key", "hcaik_ hcbik_ hcmik_ hcaic_ hcalk_", r"[a-z0-9]{40,}"),
    ("axiom-token", "xaat- xapt-", _UUID),
    ("frameio-token", "fio-u-", rf"{_W}{{60,}}"),
    ("mapbox-token", "sk.eyJ", r"[\w.-]{60,}"),
    ("intercom-token", "dG9rOj", r"[A-Za-z0-9+/=]{30,}"),
    ("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", rf"{_A}{{16,}}"),
)
_KEYS = (
    ("age-key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    ("nostr-key", "nsec1", r"[a-z0-9]{58}"),
    ("wallet-key", "xprv9 yprv zprv", rf"{_A}{{90,}}"),
    # A private key in base64, as Kubernetes stores it: '-----BEGIN … PRIVATE KEY'.
    (
        "private-key",
        "LS0tLS1CRUdJTiBSU0Eg LS0tLS1CRUdJTiBFQyBQ LS0tLS1CRUdJTiBPUEVO LS0tLS1CRUdJTiBQUklW "
        "LS0tLS1CRUdJTiBFTkNS LS0tLS1CRUdJTiBEU0Eg LS0tLS1CRUdJTiBQR1Ag",
        r"[A-Za-z0-9+/=]{40,}",
    ),
)

FORMS = (*_MODEL_PROVIDERS, *_CLOUDS, *_CODE_HOSTS, *_SERVICES, *_KEYS)
VAGUE_FORMS = (
    ("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{50,}"),
    ("voyage-key", "pa-", rf"{_W}{{40,}}"),
    ("fireworks-key", "fw_", rf"{_A}{{22,}}"),
    ("modal-token", "ak- as-", rf"{_A}{{22,}}"),
    ("sanity-token", "sk", rf"{_A}{{80,}}"),
    ("browserbase-key", "bb_live_ bb_test_", rf"{_W}{{20,}}"),
    ("courier-key", "pk_prod_", rf"{_A}{{20,}}"),
    ("razorpay-key", "rzp_live_ rzp_test_", rf"{_A}{{14,}}"),
    ("vault-token", "s.", rf"{_A}{{24}}{_NOT_LONGER}"),
)
"""Forms whose prefix may also begin an ordinary word: what follows must look random as well."""

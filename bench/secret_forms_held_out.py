"""Forms of secrets that the rules were not made for: 40 services and programs.

They were written after the rules, from memory, by someone who knew the rules, and are measured
apart. Most have a name or an option beside them. Of 60 forms before them, many of which were tokens
alone, 63 % were masked. Do not tune the rules on these: a form whose miss was looked at moves to
`secret_forms_seen`.
"""

_FORMS = (
    "MUX_TOKEN_SECRET=«{B75}»",
    "export NOVU_SECRET_KEY=«{H32}»",
    "PINATA_JWT=«eyJ{W60}.eyJ{W120}.{W43}»",
    "RETOOL_API_TOKEN=«retool_01{L24}»",
    'SVIX_TOKEN="«testsk_{A32}.eu»"',
    "TURSO_AUTH_TOKEN=«eyJ{W60}.eyJ{W80}.{W86}»",
    "EXA_API_KEY=«{H8}-{H4}-{H4}-{H4}-{H12}»",
    "SPOTIFY_CLIENT_SECRET=«{H32}»",
    "mailtrap: Api-Token: «{H32}»",
    "gradle.publish.secret=«{A32}»",
    "MEILI_MASTER_KEY=«{W43}»",
    "typesense: X-TYPESENSE-API-KEY: «{A32}»",
    "QDRANT__SERVICE__API_KEY=«{A36}»",
    'weaviate = Auth.api_key("«{A36}»")',
    "zilliz token: «db_admin:{A20}»",
    'curl -H "X-Vault-Token: «{A26}»" https://vault.internal/v1/x',
    "consul acl: SecretID: «{H8}-{H4}-{H4}-{H4}-{H12}»",
    "nomad login -token=«{H8}-{H4}-{H4}-{H4}-{H12}»",
    "rabbitmqctl change_password me «{P}»",
    'mongosh "mongodb+srv://me:«{P}»@c0.internal/db"',
    "rclone config create s3 s3 secret_access_key «{B40}»",
    "restic: RESTIC_PASSWORD=«{P}»",
    'borg: BORG_PASSPHRASE="«{P}»"',
    "openssl enc -aes-256-cbc -k «{P}» -in a",
    "gpg --batch --passphrase «{P}» -c a",
    "zip -P «{P}» a.zip a",
    "sshpass -p «{P}» ssh me@host",
    "net use Z: \\\\srv\\share /user:me «{P}»",
    "keytool -storepass «{P}» -list",
    "msmtp: password «{P}»",
    '{"auths":{"r.internal":{"auth":"«{B40}»"}}}',
    "machine api.internal login me password «{A24}»",
    "DSN: https://«{H32}»@o1.ingest.internal/2",
    "SLACK_SIGNING_SECRET=«{H32}»",
    "recaptcha secret: «6Lc{W37}»",
    "vonage api_secret=«{A16}»",
    "MATRIX_ACCESS_TOKEN=«syt_{B12}_{A20}_{A6}»",
    "mastodon: access_token: «{W43}»",
    "plex: X-Plex-Token=«{W20}»",
    "jenkins: me:«11{H32}» in the crumb",
)
HELD_OUT = {f"held out {number}: {form[:32]}": form for number, form in enumerate(_FORMS)}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';

/** Of shells, desktops, npm, CI, containers, platforms, clouds, databases and other programs. */
const usual = `
_ CDPATH COLORFGBG COLORTERM COLUMNS DBUS_SESSION_BUS_ADDRESS DESKTOP_SESSION DISPLAY EDITOR EUID FPATH GDMSESSION
GPG_AGENT_INFO GROUPS HISTFILE HISTSIZE HOME HOSTNAME HOSTTYPE IFS INFOPATH INVOCATION_ID JOURNAL_STREAM LANG LANGUAGE
LC_ALL LC_CTYPE LD_LIBRARY_PATH LD_PRELOAD LESS LESSOPEN LINES LISTEN_FDS LISTEN_PID LOGNAME LS_COLORS MACHTYPE MAIL
MAILTO MANPATH NOTIFY_SOCKET OLDPWD OSTYPE PAGER PATH PPID PROMPT PS1 PS4 PWD RUNTIME_DIRECTORY SESSION_MANAGER SHELL
SHLVL SSH_AGENT_PID SSH_AUTH_SOCK SSH_CLIENT SSH_CONNECTION SSH_TTY STATE_DIRECTORY SUDO_USER TEMP TERM TERM_PROGRAM
TMP TMPDIR TMUX TZ UID USER USERNAME VISUAL VTE_VERSION WAYLAND_DISPLAY WINDOWID XAUTHORITY XDG_CACHE_HOME
XDG_CONFIG_DIRS XDG_CONFIG_HOME XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR XDG_SESSION_ID
ALLUSERSPROFILE APPDATA COMPUTERNAME COMSPEC LOCALAPPDATA NUMBER_OF_PROCESSORS OS PATHEXT PROGRAMDATA PROGRAMFILES
SYSTEMDRIVE SYSTEMROOT USERDOMAIN USERPROFILE WINDIR
COLOR DEBUG FORCE_COLOR INIT_CWD NODE NODE_ENV NODE_EXTRA_CA_CERTS NODE_OPTIONS NODE_PATH NODE_COMPILE_CACHE NODE_VERSION
NO_COLOR NPM_TOKEN NVM_DIR UV_THREADPOOL_SIZE VITEST YARN_VERSION npm_command npm_config_cache npm_execpath
npm_lifecycle_event npm_package_name npm_package_version
ALL_PROXY FTP_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY all_proxy http_proxy https_proxy no_proxy SSL_CERT_DIR SSL_CERT_FILE
BRANCH BRANCH_NAME BUILD_ID BUILD_NUMBER BUILD_URL CI CIRCLECI COMMIT GITHUB_ACTIONS GITHUB_REF GITHUB_TOKEN GITLAB_CI
JENKINS_URL JOB_NAME NODE_NAME RUNNER_OS TRAVIS WORKSPACE
CONTAINER DOCKER_CONFIG DOCKER_HOST KUBECONFIG KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT POD_IP
POD_NAME POD_NAMESPACE container
CAUSEWAY_PORT CAUSEWAY_PORT_8402_TCP CAUSEWAY_PORT_8402_TCP_ADDR CAUSEWAY_SERVICE_HOST CAUSEWAY_SERVICE_PORT
CAUSEWAY_SERVICE_PORT_HTTP SEARCH_PORT SEARCH_PORT_80_TCP_PROTO SEARCH_SERVICE_HOST SEARCH_SERVICE_PORT
DATABASE_PORT DATABASE_SERVICE_HOST MEDIA_SERVICE_HOST REDIS_PORT REDIS_PORT_6379_TCP REDIS_SERVICE_HOST
APP_NAME APP_ENV DYNO FLY_APP_NAME FLY_REGION GAE_ENV HEROKU_APP_NAME K_REVISION K_SERVICE PORT0 PORTS
RAILWAY_ENVIRONMENT RAILWAY_PUBLIC_DOMAIN RENDER RENDER_EXTERNAL_URL RENDER_SERVICE_NAME VERCEL WEBSITE_HOSTNAME
AWS_ACCESS_KEY_ID AWS_DEFAULT_REGION AWS_ENDPOINT_URL_S3 AWS_PROFILE AWS_REGION AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
AZURE_CLIENT_ID GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT
ANTHROPIC_API_KEY ARK_API_KEY LOCAL_API_KEY OPENAI_API_KEY OPENAI_BASE_URL
DATABASE_HOST DATABASE_NAME DATABASE_PASSWORD DATABASE_USER DB_HOST DB_PORT MYSQL_HOST PGDATA PGDATABASE PGHOST
PGPASSFILE PGPASSWORD PGPORT PGSSLMODE PGUSER POSTGRES_DB POSTGRES_PASSWORD POSTGRES_URL POSTGRES_USER REDIS_HOST
REDIS_PASSWORD
LOG_FILE LOG_FORMAT OTEL_BSP_SCHEDULE_DELAY OTEL_LOGS_EXPORTER OTEL_PROPAGATORS PM2_HOME RUST_LOG SENTRY_DSN
FFMPEG_BIN IMAGE_NAME IMAGE_TAG IMAGE_VERSION MAX_MEMORY PUBLIC_DIR PUBLIC_IP SEED TRUSTED_HOSTS
`
  .trim()
  .split(/\s+/);

const variables = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'x']));

describe('the variables of other programs', () => {
  it('stop no start, and are not taken for settings of ours', () => {
    const { unknownVariables } = readConfig({ ...variables(usual), PORT: '8402' }, null);
    expect(unknownVariables).toEqual([]);
  });

  it.each(['MEDIA_BUCKET', 'CAUSEWAY_TOKEN', 'VIDEO_CODEC', 'VIDEO_STREAMS'])(
    'are named at the start when they begin as several settings do: %s',
    (name) => {
      expect(readConfig({ [name]: 'x' }, null).unknownVariables).toEqual([name]);
    },
  );

  it('are left alone when causeway.yaml names them', () => {
    const yaml = `providers:\n  up: { type: openai, base_url: "http://127.0.0.1/v1", api_key_env: MEDIA_API_KEY }\n`;
    expect(readConfig({ MEDIA_API_KEY: 'x' }, yaml).unknownVariables).toEqual([]);
  });
});

describe('a variable one edit away from a setting', () => {
  it.each([
    ['DATBASE_URL', 'DATABASE_URL'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['DATABASE_URLS', 'DATABASE_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['REDIS_URI', 'REDIS_URL'],
    ['database_url', 'DATABASE_URL'],
    ['X402_Networks', 'X402_NETWORKS'],
    ['DATADIR', 'DATA_DIR'],
    ['PROT', 'PORT'],
    ['LEADS_SOURCE', 'LEADS_SOURCES'],
    ['X402_NETWORK', 'X402_NETWORKS'],
    ['X402_EVM_REFUND_KEY_FLE', 'X402_EVM_REFUND_KEY_FILE'],
    ['CAUSEWAY_CONFG', 'CAUSEWAY_CONFIG'],
    ['CAUSEWAY_API_KEYS', 'CAUSEWAY_API_KEY'],
  ])('%s stops the start, which names %s', (written, meant) => {
    expect(() => readConfig({ [written]: 'x' }, null)).toThrow(
      `${written}: there is no such setting; rename it to ${meant}, or unset it if it is meant for another program`,
    );
  });

  it('is found for every setting and every slip', () => {
    const settings = ['DATABASE_URL', 'MEDIA_RETENTION_DAYS', 'ALLOW_LOOPBACK_URLS', 'WEBHOOKS', 'BRAND'];
    const slip = fc
      .record({
        name: fc.constantFrom(...settings),
        place: fc.nat(),
        letter: fc.constantFrom('A', 'B', 'Z', '_', '1'),
        kind: fc.constantFrom('add', 'leave out', 'replace', 'swap'),
      })
      .map(({ name, place, letter, kind }) => {
        const at = place % name.length;
        const [before, here, after] = [name.slice(0, at), name.charAt(at), name.slice(at + 1)];
        const written = {
          add: before + letter + here + after,
          'leave out': before + after,
          replace: before + letter + after,
          swap: before + after.charAt(0) + here + after.slice(1),
        }[kind];
        return { name, written };
      })
      .filter(({ name, written }) => written !== name);
    fc.assert(
      fc.property(slip, ({ name, written }) => {
        expect(() => readConfig({ [written]: 'x' }, null)).toThrow(`rename it to ${name}`);
      }),
    );
  });

  it('is another program’s where the setting itself is set', () => {
    const both = { REDIS_URI: 'x', REDIS_URL: 'redis://127.0.0.1' };
    expect(readConfig(both, null).redisUrl).toBe('redis://127.0.0.1');
  });

  it('counts as unset when it is empty', () => {
    expect(readConfig({ DATBASE_URL: '' }, null).databaseUrl).toBeNull();
  });
});

describe('a key that causeway.yaml does not have', () => {
  it.each([
    ['modles: {}', 'causeway.yaml: Unrecognized key: "modles"; did you mean models?'],
    [
      'providers: { up: { type: openai, base_ulr: "http://127.0.0.1/v1" } }',
      'causeway.yaml: providers.up: Unrecognized key: "base_ulr"; did you mean base_url?',
    ],
    [
      'x402: { networks: { "eip155:84532": { payto: "0x0" } } }',
      'causeway.yaml: x402.networks.eip155:84532: Unrecognized key: "payto"; did you mean pay_to?',
    ],
    [
      'moderation: { provider: local, model: m, threshold: 1 }',
      'causeway.yaml: moderation: Unrecognized key: "threshold"; known are provider, model',
    ],
  ])('is refused with the nearest known one: %s', (yaml, message) => {
    expect(() => readConfig({}, yaml)).toThrow(message);
  });
});

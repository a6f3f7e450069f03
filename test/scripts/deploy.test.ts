import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readConfig } from '../../src/config/config.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { migrations } from '../../src/store/migrations/migrations.ts';
import { allVariables } from '../../src/config/variables.ts';

const readDeploy = (name: string): string => readFileSync(`deploy/${name}`, 'utf8');
const defaults = readConfig({}, null);

/** The number after a directive, such as `proxy_read_timeout 330s`. */
const numberAfter = (text: string, directive: RegExp): number =>
  Number(new RegExp(`^ *${directive.source}[ =](\\d+)`, 'm').exec(text)?.[1]);

const nginx = readDeploy('nginx.conf');
const compose = z
  .object({
    services: z.record(
      z.string(),
      z.object({
        image: z.string(),
        environment: z.record(z.string(), z.string()).optional(),
        env_file: z.string().optional(),
        volumes: z.array(z.string()).default([]),
        depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
        healthcheck: z.unknown().optional(),
        stop_grace_period: z.string().optional(),
      }),
    ),
    volumes: z.record(z.string(), z.unknown()),
  })
  .parse(parse(readDeploy('compose.yaml'), { merge: true }));
const gateways = Object.entries(compose.services).filter(([, { image }]) => image === 'causeway');

describe('compose.yaml', () => {
  it('gives two gateways nothing but settings, the same ones', () => {
    expect(gateways).toHaveLength(2);
    const environments = gateways.map(([, { environment = {} }]) => environment);
    expect(environments[1]).toEqual(environments[0]);
    // Of node-postgres.
    const { PGPASSWORD, ...settings } = environments[0] ?? {};
    expect(PGPASSWORD).toContain('POSTGRES_PASSWORD');
    expect(Object.keys(settings).filter((name) => !(name in allVariables))).toEqual([]);
    expect(readConfig(settings, null)).toMatchObject({ trustedProxyHops: 1 });
  });

  it('gives each gateway a data folder of its own, and all of them one for results', () => {
    const folders = gateways.map(([, { volumes }]) => volumes.find((one) => one.endsWith(':/data')));
    expect(new Set(folders).size).toBe(gateways.length);
    for (const [, { volumes, environment = {} }] of gateways) {
      expect(volumes).toContain('shared:/shared');
      expect(environment['MEDIA_DIR']).toMatch(/^\/shared\//);
    }
  });

  it('starts each service when those that it needs are healthy', () => {
    const dockerfile = readDeploy('Dockerfile');
    for (const { depends_on: needs } of Object.values(compose.services))
      for (const [name, { condition }] of Object.entries(needs)) {
        expect(condition).toBe('service_healthy');
        const { image, healthcheck } = compose.services[name] ?? {};
        expect(healthcheck ?? (image === 'causeway' && /^HEALTHCHECK /m.exec(dockerfile))).toBeTruthy();
      }
    expect(Object.keys(compose.services['nginx']?.depends_on ?? {})).toEqual(gateways.map(([name]) => name));
  });

  it('names volumes that are declared, and variables that the example has', () => {
    const text = readDeploy('compose.yaml');
    const mounted = Object.values(compose.services).flatMap(({ volumes }) =>
      volumes.map((one) => one.split(':')[0]),
    );
    expect(mounted.filter((name) => name !== './nginx.conf' && !(String(name) in compose.volumes))).toEqual(
      [],
    );
    const example = readDeploy('.env.example');
    for (const [, name = ''] of text.matchAll(/\$\{(\w+)/g))
      expect(example).toMatch(new RegExp(`^${name}=`, 'm'));
  });
});

describe('the sandbox of mounted programs', () => {
  it('has its options for every gateway of compose.yaml, and the same for docker run', () => {
    const text = readDeploy('compose.sandbox.yaml');
    const { services } = parse(text, { merge: true }) as {
      services: Record<string, { security_opt: string[] }>;
    };
    expect(Object.keys(services)).toEqual(gateways.map(([name]) => name));
    for (const { security_opt: options } of Object.values(services)) {
      expect(options).toHaveLength(3);
      for (const option of options) expect(text).toContain(`--security-opt ${option}`);
    }
    expect(readDeploy('Dockerfile')).toMatch(/apt-get .*install .*bubblewrap/);
  });

  it('has a drop-in that opens only what the unit closes', () => {
    const unit = readDeploy('causeway.service');
    const settings = [...readDeploy('causeway.service.d/sandbox.conf').matchAll(/^(\w+)=/gm)];
    expect(settings.length).toBeGreaterThan(3);
    for (const [, name] of settings) expect(unit).toMatch(new RegExp(`^${name}=`, 'm'));
  });
});

describe('nginx.conf', () => {
  it('names the gateways of compose.yaml at the port of the image', () => {
    const servers = [...nginx.matchAll(/^ *server ([\w.-]+):(\d+)/gm)].map(
      ([, host, port]) => `${host}:${port}`,
    );
    expect(servers).toEqual(gateways.map(([name]) => `${name}:${defaults.port}`));
    expect(readDeploy('Dockerfile')).toContain(`EXPOSE ${defaults.port}`);
  });

  it('leaves refusals and deadlines to the gateway', () => {
    expect(numberAfter(nginx, /client_max_body_size/) * 1024 ** 2).toBeGreaterThan(defaults.maxBodyBytes);
    expect(numberAfter(nginx, /proxy_read_timeout/) * 1_000).toBeGreaterThan(defaults.chatDeadlineMs);
  });

  it("refuses the operator's API also as it is written, because nginx passes paths on like that", () => {
    const [, pattern = ''] = /if \(\$request_uri ~\* "([^"]+)"\)/.exec(nginx) ?? [];
    const isRefused = (target: string): boolean => new RegExp(pattern, 'i').test(target);
    for (const target of [
      '/admin/v1/accounts',
      '//admin/v1/accounts',
      '/admin/v1/accounts/..%2f..%2f..%2fx',
      '/admin%2fv1/accounts',
      '/admin\\v1/accounts',
      '/admin?x',
      '/admin',
    ])
      expect([target, isRefused(target)]).toEqual([target, true]);
    for (const target of ['/', '/v1/search?query=/admin/', '/administer', '/v1/keys/admin'])
      expect([target, isRefused(target)]).toEqual([target, false]);
  });
});

describe('a stop', () => {
  it('may take longer than a gateway drains', () => {
    for (const [, { stop_grace_period: period = '' }] of gateways)
      expect(parseInt(period) * 1_000).toBeGreaterThan(defaults.drainMs + 5_000);
    const unit = readDeploy('causeway.service');
    expect(numberAfter(unit, /TimeoutStopSec/) * 1_000).toBeGreaterThan(defaults.drainMs + 5_000);
  });
});

it('the unit and the documents name the package as package.json does', () => {
  const files = ['deploy/causeway.service', 'README.md', 'docs/operators.md', 'docs/configuration.md'];
  const named = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/@[a-z-]+\/gateway\b/g)]);
  expect(named.length).toBeGreaterThan(3);
  expect(new Set(named.map(([name]) => name))).toEqual(new Set([packageJson.name]));
});

it('the unit and the first steps make the folders and the file of settings with the same owner and mode', () => {
  const made = (file: string) =>
    [...readFileSync(file, 'utf8').matchAll(/install -[^\n]*?\/etc\/causeway(?:\/env)?/g)].map(String);
  expect(made('deploy/causeway.service')).toHaveLength(2);
  expect(made('deploy/causeway.service')).toEqual(made('docs/operators-start.md'));
});

it('no document and no command tells readers to run `npx causeway`, which may be a package of others', () => {
  const files = [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'deploy/causeway.service',
    'src/cli/program.ts',
    ...readdirSync('docs')
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];
  const wrong = files.filter((file) => /npx (?:-\S+ )*causeway\b/.test(readFileSync(file, 'utf8')));
  expect(wrong).toEqual([]);
});

it('the changelog names every migration', () => {
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  expect(Object.keys(migrations).filter((name) => !changelog.includes(name.slice(0, 4)))).toEqual([]);
});

import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { relative, resolve } from 'node:path';
import { z } from 'zod';
import { paySettings, readPay } from '../http/pay-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import { parsePointer } from '../kit/json-pointer.ts';
import type { Nano } from '../kit/money.ts';
import { httpUrl, jsonPointer, secret, usdAmount, wholeNumber } from '../kit/settings.ts';
import { oauthSchema, signInName, variable, type OAuthSettings } from './oauth-settings.ts';
import type { ResultLimits } from './read-result.ts';
import type { GiveToken } from './sign-requests.ts';

export const mountVariables = {
  TOOLS_PROCESSES_MAX: wholeNumber(1, 10_000, 16).describe(
    'processes and connections for accounts with secrets of their own; an account has at most a quarter',
  ),
  TOOLS_SECRETS_KEY: secret(
    z
      .string()
      .regex(
        /^[0-9a-f]{64}(?:,[0-9a-f]{64})*$/,
        'must be 64 hexadecimal digits (openssl rand -hex 32), and former keys after commas',
      ),
  )
    .optional()
    .describe(
      'key that encrypts secrets of accounts (`per_account`), 64 hexadecimal digits; former keys follow after commas',
    ),
};

/** What every program reads in its sandbox. */
export const systemPlaces =
  '/usr /bin /sbin /lib /lib64 /etc/ssl/certs /etc/ssl/openssl.cnf /etc/pki/tls/certs /etc/pki/ca-trust /etc/ca-certificates /etc/alternatives /etc/ld.so.cache'.split(
    ' ',
  );

/** What a program reaches in its sandbox, beside what every program does. */
export interface Sandbox {
  read: readonly string[];
  write: readonly string[];
  network: boolean;
}

/** How a mounted server is reached. */
export type MountTarget =
  /** A program that speaks over its standard input and output. `env`: its whole environment, beside PATH. */
  | {
      kind: 'stdio';
      command: string;
      args: readonly string[];
      env: Readonly<Record<string, string>>;
      /** Null: it reaches what the gateway does. */
      sandbox: Sandbox | null;
    }
  /** An address. `isPrivate`: it may be one of a private network. `isSse`: it speaks the transport before Streamable HTTP. */
  | {
      kind: 'http';
      url: string;
      isPrivate: boolean;
      isSse: boolean;
      /** Of each request, with names in lower case. */
      headers: Readonly<Record<string, string>>;
      /** Those whose values are secrets of each account. The operator's own, where given, are among `headers`. */
      accountHeaders: readonly AccountHeader[];
      oauth: OAuthSettings | null;
      /** Gives the tokens of an account that has signed in. */
      tokens?: GiveToken;
    };
export type HttpTarget = Extract<MountTarget, { kind: 'http' }>;

interface AccountHeader {
  header: string;
  /** Stands before the value. */
  prefix: '' | 'Bearer ';
  /** The name of the secret. */
  variable: string;
}

/** The limits of time of one server. */
export interface MountTimeouts {
  /** Up to the answer to a question that runs no tool. */
  answerMs: number;
  /** Up to the first sign of life of a call, and between two of them: its answer, or progress. */
  silenceMs: number;
  /** Up to the answer of a call. */
  totalMs: number;
}

/** What a call of a tool costs if it succeeds. */
export interface ToolPrice {
  /** The most that it costs. Zero: the tool is free. */
  price: Nano;
  /** It costs `each` for each of at most `max` rows in its answer, at the tokens of a JSON pointer. Null: it costs the price. */
  rows: { path: readonly string[]; each: Nano; max: number } | null;
}

export const freeOfCharge: ToolPrice = { price: 0n, rows: null };

/** An MCP server of somebody else, as the operator mounts it. */
export type MountConfig = ReturnType<typeof readMounts>[number];

/** The longest time that a call of a tool may take. */
export const longestCallMs = 3_600_000;

const toolName = z.string().min(1).max(64);
const toolNames = z.array(toolName);
const waitMs = (initial: number) => z.int().min(1).max(longestCallMs).default(initial);
const characters = z.int().min(100).max(2_097_152);
const toolArguments = z.record(z.string(), z.json()).default({});

export type ToolSettings = z.output<typeof toolSchema>;

const shownName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be at most 64 letters, digits, _ and -');
const toolSchema = z.strictObject({
  name: shownName.optional().describe('its name for callers'),
  title: z.string().min(1).max(200).optional().describe('its title for callers'),
  description: z.string().min(1).max(8_000).optional().describe('its description for callers'),
  fixed: secret(toolArguments).describe('arguments that are always sent, and that callers do not see'),
  defaults: toolArguments.describe('arguments that are sent if the caller leaves them out'),
  max_characters: characters.optional().describe("in place of the server's `max_characters`"),
});

const hasOneNameEach = (tools: Readonly<Record<string, ToolSettings>>): boolean => {
  const shown = Object.entries(tools).map(([name, settings]) => settings.name ?? name);
  return new Set(shown).size === shown.length;
};

/** Clients take other keys of `_meta` for words of the gateway, of a host or of the protocol. */
const freeKey = /^(?!ui|(?:x402|mcp|anthropic|openai|io\.modelcontextprotocol)\/)/i;

export const headerValue = /^[\x20-\x7e]+$/;
const headerName = z.string().regex(/^[\w-]+$/, 'must be the name of a header');

/** Variables that make programs load code, find other programs, or speak to others. */
const steering =
  /^(?:PATH|HOME|SHELL|ENV|IFS|TMPDIR|PROMPT_COMMAND|GCONV_PATH|(?:PYTHON|PERL|RUBY).*|(?:BASH|NODE|NPM|LD|DYLD|_?JAVA|JDK|GIT|UV|PIP|GLIBC)_.*|.*_PROXY)$/i;
const places = z.array(z.string().regex(/^\//, 'must be an absolute path')).default([]);

const rowPrice = z
  .strictObject({ rows: jsonPointer, each: usdAmount, max: z.int().min(1).max(100_000) })
  .transform(({ rows, each, max }): ToolPrice => ({
    price: each * BigInt(max),
    rows: { path: parsePointer(rows), each, max },
  }));

const callPrice = z
  .union([z.literal('free').transform((): Nano => 0n), usdAmount])
  .transform((price): ToolPrice => ({ price, rows: null }));

const mountSchema = z
  .strictObject({
    command: z
      .string()
      .min(1)
      .optional()
      .describe('program that speaks MCP over its standard input and output'),
    args: z.array(z.string()).default([]).describe('its arguments'),
    env: z
      .array(variable)
      .default([])
      .describe("variables of the gateway's environment that it gets, beside `PATH`"),
    sandbox: z
      .enum(['bubblewrap', 'none'], 'must be bubblewrap, or none: it can then read what the gateway can')
      .optional()
      .describe('of a `command`: `bubblewrap`, or `none`: it can read what the gateway can'),
    read: places.describe('folders and files that it reads in its sandbox'),
    write: places.describe('folders and files that it also writes there'),
    network: z
      .boolean()
      .default(false)
      .describe('whether its sandbox reaches the network, and services of this machine'),
    per_account: z
      .array(variable.refine((name) => !steering.test(name), 'must not be a variable that steers programs'))
      .max(16)
      .transform((names) => [...new Set(names)])
      .default([])
      .describe(
        'variables that each account sets for a process of its own, or for headers of its connection',
      ),
    url: secret(httpUrl)
      .optional()
      .describe('address of a server that speaks Streamable HTTP, in place of `command`'),
    private: z
      .boolean()
      .default(false)
      .describe('whether `url`, `token_url` and `issuer` may be plain http, or lead into a private network'),
    transport: z.literal('sse').optional().describe('`sse`: the `url` speaks the older transport'),
    bearer_env: variable.optional().describe('variable with a bearer token for the `url`'),
    headers_env: z
      .record(headerName, variable)
      .optional()
      .describe('variables with other headers for the `url`, by header'),
    oauth: oauthSchema.optional().describe('gets tokens for the `url`'),
    pay: paySettings
      .optional()
      .describe('pays a `url` that sells its calls, as `providers.NAME.pay`, below their price'),
    allow: toolNames.optional().describe('the only tools that may be offered; by default all'),
    hide: toolNames.default([]).describe('tools that are never offered'),
    prices: z
      .record(
        z.string(),
        z.union(
          [callPrice, rowPrice],
          'must be USD for a call, such as "0.01", free, or { rows, each, max }',
        ),
      )
      .default({})
      .describe('USD for a call, `free`, or `{ rows, each, max }`, by tool; the other tools are free'),
    harmless: toolNames.default([]).describe('tools that may run before a wallet has paid'),
    account: z.boolean().default(false).describe('whether its tools are also at `/mcp/account`'),
    calls_per_minute: z.int().min(1).max(1_000_000).default(600).describe('calls of one account in a minute'),
    // All accounts together have 64.
    concurrent_calls: z.int().min(1).max(63).default(32).describe('calls of one account at once'),
    tools: z
      .record(toolName, toolSchema)
      .refine(hasOneNameEach, 'gives two tools one name')
      .default({})
      .describe('what callers see, and what is sent, by tool'),
    answer_ms: waitMs(10_000).describe('how long a greeting or a list may take'),
    silence_ms: waitMs(60_000).describe('how long a call may be silent; progress is a sign of life'),
    total_ms: waitMs(300_000).describe('how long a call may take'),
    max_characters: characters.default(1024 ** 2).describe('longest result of a tool, as JSON'),
    meta: z
      .array(z.string().regex(freeKey, 'is reserved'))
      .default([])
      .describe('keys of `_meta` that callers get; by default none'),
  })
  .refine(
    ({ command, url }) => (command === undefined) !== (url === undefined),
    'needs either command or url',
  )
  .refine(({ command, sandbox }) => (command === undefined) === (sandbox === undefined), {
    path: ['sandbox'],
    message:
      'must be bubblewrap, or none (it can then read what the gateway can), for a command, and belongs to no url',
  })
  .refine(
    ({ sandbox, read, write, network }) =>
      sandbox === 'bubblewrap' || (read.length === 0 && write.length === 0 && !network),
    'has read, write or network, which belong to sandbox: bubblewrap',
  )
  .refine(
    ({ command, transport, bearer_env, headers_env, oauth, pay }) =>
      command === undefined || (transport ?? bearer_env ?? headers_env ?? oauth ?? pay) === undefined,
    'transport, bearer_env, headers_env, oauth and pay belong to a url',
  )
  .refine((one) => !one.bearer_env || one.oauth?.per_account !== false, 'needs either bearer_env or oauth');
type MountSection = z.output<typeof mountSchema>;

/** The section `mcp_servers` of causeway.yaml. */
export const mountsSection = z
  .record(
    z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be a name of lower-case letters, digits and hyphens'),
    mountSchema,
  )
  .default({})
  .describe('MCP servers by name, whose tools the gateway offers');

interface MountSurroundings {
  environment: Readonly<Record<string, string | undefined>>;
  /** Files and folders that no program in a sandbox may reach. */
  hidden: readonly string[];
  hasSecretsKey: boolean;
}

/** Throws ConfigError with one line that names the setting. */
export const readMounts = (section: z.output<typeof mountsSection>, surroundings: MountSurroundings) =>
  Object.entries(section).map(([name, server]) => {
    const { allow = null, hide, prices, harmless, tools } = server;
    const perAccount = [...server.per_account, ...(server.oauth?.per_account ? [signInName] : [])];
    if (perAccount.length > 0 && !surroundings.hasSecretsKey)
      throw refuse(name, 'per_account', 'needs TOOLS_SECRETS_KEY, which encrypts what accounts set');
    const { answer_ms: answerMs, silence_ms: silenceMs, total_ms: totalMs } = server;
    const timeouts: MountTimeouts = { answerMs, silenceMs, totalMs };
    const result: ResultLimits = { maxCharacters: server.max_characters, meta: server.meta };
    return {
      name,
      target: readTarget(name, server, surroundings),
      /** The only tools that may be offered; null: all. */
      allow,
      hide,
      /** By tool. The other tools are free. */
      prices: new Map(Object.entries(prices)),
      /** Tools that may run for wallets before they are paid. */
      harmless,
      /** The tools are also offered at /mcp/account, and connections may be allowed to use them. */
      isForConnections: server.account,
      /** The most calls of one account in a minute, and at once. */
      callsPerMinute: server.calls_per_minute,
      concurrentCalls: server.concurrent_calls,
      /** What the operator says of tools, by the names that the server gives them. */
      tools: new Map(Object.entries(tools)),
      timeouts,
      result,
      /** The secrets that each account sets for a process or a connection of its own, its sign-in among them. */
      perAccount,
      /** How its calls are paid; null: none is. */
      pay: readPay(server.pay, { setting: `mcp_servers.${name}`, ...surroundings }),
    };
  });

const refuse = (server: string, field: string, problem: string): ConfigError =>
  new ConfigError(`causeway.yaml: mcp_servers.${server}.${field}: ${problem}`);

const readTarget = (
  name: string,
  section: MountSection,
  { environment, hidden }: MountSurroundings,
): MountTarget => {
  const { command, args, env, sandbox, read, write, network } = section;
  if (command === undefined) return readHttp(name, section, environment);
  const given = env.map((variable) => {
    const value = environment[variable];
    if (value !== undefined) return [variable, value] as const;
    throw refuse(name, 'env', `the environment variable ${variable} is not set`);
  });
  const isSandboxed = sandbox === 'bubblewrap';
  for (const path of isSandboxed ? [...systemPlaces, ...read, ...write] : []) {
    const shown =
      [homedir(), ...hidden].find((one) => contains(path, one)) ?? hidden.find((one) => contains(one, path));
    if (shown !== undefined) throw refuse(name, 'sandbox', `${path} would show the server ${shown}`);
  }
  const path = environment['PATH'];
  return {
    kind: 'stdio',
    command,
    args,
    env: { ...(path === undefined ? {} : { PATH: path }), ...Object.fromEntries(given) },
    sandbox: isSandboxed ? { read, write, network } : null,
  };
};

const readHttp = (
  name: string,
  section: MountSection,
  environment: MountSurroundings['environment'],
): MountTarget => {
  const read = (key: string, from: string): string => {
    const value = environment[from] ?? '';
    if (headerValue.test(value)) return value;
    throw refuse(name, key, `the environment variable ${from} is not set, or not printable ASCII`);
  };
  const { url = '', transport, bearer_env, headers_env = {}, per_account: secrets, oauth } = section;
  const named = Object.entries(headers_env).map(([header, variable]): AccountHeader => ({
    header: header.toLowerCase(),
    prefix: '',
    variable,
  }));
  if (bearer_env !== undefined)
    named.push({ header: 'authorization', prefix: 'Bearer ', variable: bearer_env });
  const accountHeaders = named.filter(({ variable }) => secrets.includes(variable));
  const unused = secrets.find((one) => accountHeaders.every(({ variable }) => variable !== one));
  if (unused !== undefined)
    throw refuse(name, 'per_account', `${unused} is in no header: name it in bearer_env or headers_env`);
  const headers = Object.fromEntries(
    named
      .filter((one) => !accountHeaders.includes(one) || environment[one.variable] !== undefined)
      .map(({ header, prefix, variable }) => [
        header,
        prefix + read(prefix === '' ? 'headers_env' : 'bearer_env', variable),
      ]),
  );
  const from = oauth?.client_secret_env;
  const account = oauth && { ...oauth, secret: from && read('oauth.client_secret_env', from) };
  const isSse = transport === 'sse';
  const { private: isPrivate } = section;
  return { kind: 'http', url, isPrivate, isSse, headers, accountHeaders, oauth: account ?? null };
};

const contains = (folder: string, path: string): boolean =>
  !/^\.\.(?:\/|$)/.test(relative(realPath(folder), realPath(path)));

const realPath = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    // It is not there yet.
    return resolve(path);
  }
};

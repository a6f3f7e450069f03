import { z } from 'zod';
import {
  commaList,
  oneOf,
  plainUrl,
  secret,
  toggle,
  type VariableValues,
  wholeNumber,
} from '../kit/settings.ts';
import { classifyLiteral } from '../http/check-url.ts';
import { ConfigError } from '../kit/errors.ts';

export const serverVariables = {
  HOST: z.string().default('127.0.0.1').describe('address to listen on'),
  PORT: wholeNumber(0, 65_535, 8402).describe('port to listen on; 0 takes a free one'),
  PUBLIC_URL: plainUrl
    .optional()
    .describe('base of all URLs in answers, by default host and port; main networks need a public one'),
  TRUSTED_PROXY_HOPS: wholeNumber(0, 10, 0).describe(
    'your proxies in front; the client is that many entries from the end of `X-Forwarded-For`',
  ),
  ALLOWED_ORIGINS: commaList
    .transform((hosts) => hosts.map((host) => host.toLowerCase()))
    .pipe(z.array(z.string().regex(/^[a-z0-9.-]+$/, 'must be host names divided by commas')))
    .default([])
    .describe('hosts of web pages that may call `/mcp`, divided by commas; own and local pages always may'),
  BRAND: z
    .string()
    .regex(/^[a-z]{2,20}$/, 'must be 2 to 20 lower-case letters')
    .default('causeway')
    .describe('prefix of keys and headers, lower-case letters'),
  CONSOLE: toggle('on', 'off', 'on').describe('`off` removes the [console](console.md) at `/console`'),
  LOG_LEVEL: oneOf('debug', 'info', 'warn', 'error', 'silent')
    .default('info')
    .describe('`debug`, `info`, `warn`, `error` or `silent`; see [The log](operators.md#the-log)'),
  REDIS_URL: secret(z.url({ protocol: /^rediss?$/, error: 'must be a redis:// URL' }))
    .optional()
    .describe('`redis://…` shares rate limits and search pages; without it each process counts alone'),
  CAUSEWAY_CONFIG: z.string().default('causeway.yaml').describe('the file of [causeway.yaml](#causewayyaml)'),
  CAUSEWAY_API_KEY: secret(z.string())
    .optional()
    .describe(
      'key that `--stdio` acts with; see [MCP clients](mcp-clients.md#a-gateway-of-the-assistants-own-stdio)',
    ),
  CAUSEWAY_LAUNCHED: z.string().optional().describe('set by the command `causeway` itself'),
};

export const readServerSettings = (values: VariableValues<typeof serverVariables>) => ({
  host: values.HOST,
  port: values.PORT,
  /** The `{base_url}` of result URLs, documents and x402 resources, without a trailing slash. Null: from host and port. */
  publicUrl: values.PUBLIC_URL ?? null,
  trustedProxyHops: values.TRUSTED_PROXY_HOPS,
  allowedOrigins: values.ALLOWED_ORIGINS,
  brand: values.BRAND,
  /** True: people may sign in at /console. */
  hasConsole: values.CONSOLE,
  logLevel: values.LOG_LEVEL,
  redisUrl: values.REDIS_URL ?? null,
  /** The API key that MCP over stdio acts with; null: none was named. */
  stdioKey: values.CAUSEWAY_API_KEY ?? null,
});

/** Buyers sign this address for real money, so it must not be an address of their own machine. Throws ConfigError. */
export const refuseLocalPublicUrl = ({
  publicUrl,
  x402,
}: {
  publicUrl: string | null;
  x402: { isOn: boolean; takesRealMoney: boolean };
}): void => {
  if (!x402.isOn || !x402.takesRealMoney) return;
  const why = 'set the address that buyers use, as X402_NETWORKS names main networks';
  if (publicUrl === null) throw new ConfigError(`PUBLIC_URL: is not set; ${why}`);
  const { hostname } = new URL(publicUrl);
  if (classifyLiteral(hostname) === 'loopback' || hostname === '0.0.0.0' || hostname === '[::]')
    throw new ConfigError(`PUBLIC_URL: ${publicUrl} is an address of this machine alone; ${why}`);
};

import { z } from 'zod';
import { toIso } from '../kit/clock.ts';
import { AppError } from '../kit/errors.ts';
import { classifyLiteral } from '../http/check-url.ts';
import { createHttpClient } from '../http/http-client.ts';
import { OutboundError } from '../http/outbound.ts';
import { reloadSettings } from '../operator/gateway.ts';
import { issueOperator, revokeOperator } from '../operator/operators.ts';
import { CommandError } from './command-error.ts';
import { toCommand } from './form-command.ts';
import { localAddress } from './local-address.ts';

const keyLifeMs = 60_000;
const timeouts = { totalMs: 30_000 };
const maxBytes = 1024 ** 2;

const refusalSchema = z.object({ error: z.object({ message: z.string() }) });

/** True if nobody on the way to the address can read the key. */
const isPrivate = (address: string): boolean => {
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && classifyLiteral(hostname) === 'loopback');
};

/** Calls the gateway with a key of the operator's API that lives as long as the call. */
export const reloadCommand = toCommand({
  usage: 'reload [--url <url>]',
  title: 'Let a running gateway read its settings again',
  description: reloadSettings.description,
  more: 'Of several gateways, call each.',
  fields: {
    url: z
      .url({ error: 'must be the address of a gateway, such as http://127.0.0.1:8402', abort: true })
      .refine(isPrivate, 'must begin with https://, as a key is sent there, or be an address of this machine')
      .optional()
      .describe('Where the gateway listens. Default: HOST and PORT of the settings here.'),
  },
  examples: ['--url http://127.0.0.1:8403'],
  run: async ({ config, openStore, clock }, { url }) => {
    const base = url ?? localAddress(await config());
    const { operate } = await openStore();
    const issued = await operate(issueOperator, {
      label: 'causeway reload',
      role: 'write',
      expires_at: toIso(clock.now() + keyLifeMs),
    });
    try {
      const json = await callReload(base, issued.key);
      const say = (names: string[]): string => (names.length === 0 ? 'nothing' : names.join(', '));
      return { json, text: `Applied: ${say(json.applied)}. After a restart: ${say(json.restart)}.` };
    } finally {
      await operate(revokeOperator, { key_id: issued.operator_key.id });
    }
  },
});

const callReload = async (base: string, key: string): Promise<z.output<typeof reloadSettings.output>> => {
  const client = createHttpClient({ connectMs: 5_000 });
  try {
    const answer = await client.send(new URL(reloadSettings.rest.path, base), {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      closes: true,
      timeouts,
      limits: { totalBytes: maxBytes },
    });
    const body: unknown = await answer.body.json();
    const reloaded = reloadSettings.output.safeParse(body);
    if (reloaded.success) return reloaded.data;
    const refusal = refusalSchema.safeParse(body).data;
    throw new AppError('invalid_value', refusal?.error.message ?? `${base} is no gateway of this version.`);
  } catch (cause) {
    if (!(cause instanceof OutboundError || cause instanceof SyntaxError)) throw cause;
    throw new CommandError('invalid_usage', `${base}: no gateway answers there; name it with --url`, {
      cause,
    });
  } finally {
    await client.close();
  }
};

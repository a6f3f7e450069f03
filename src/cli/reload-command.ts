import { z } from 'zod';
import { AppError } from '../kit/errors.ts';
import { newId } from '../kit/ids.ts';
import { createHttpClient } from '../http/http-client.ts';
import { OutboundError } from '../http/outbound.ts';
import { reloadSettings } from '../operator/gateway.ts';
import { issueOperatorKey } from '../operator/operators.ts';
import { CommandError } from './command-error.ts';
import { toCommand } from './form-command.ts';
import { localAddress } from './local-address.ts';

const keyLifeMs = 60_000;
const timeouts = { totalMs: 30_000 };
const maxBytes = 1024 ** 2;

const refusalSchema = z.object({ error: z.object({ message: z.string() }) });

/** Calls the gateway with a key of the operator's API that lives as long as the call. */
export const reloadCommand = toCommand({
  usage: 'reload [--url <url>]',
  title: 'Let a running gateway read its settings again',
  description: reloadSettings.description,
  more: 'Of several gateways, call each.',
  fields: {
    url: z
      .url('must be the address of a gateway, such as http://10.0.0.5:8402')
      .optional()
      .describe('Where the gateway listens. Default: HOST and PORT of the settings here.'),
  },
  examples: ['--url http://10.0.0.5:8402'],
  run: async ({ config, openStore, clock }, { url }) => {
    const base = url ?? localAddress(await config());
    const services = await openStore();
    const given = { id: newId(), label: 'causeway reload', role: 'write' as const };
    const { key } = await issueOperatorKey(services, { ...given, expiresAt: clock.now() + keyLifeMs });
    try {
      const json = await callReload(base, key);
      const say = (names: string[]): string => (names.length === 0 ? 'nothing' : names.join(', '));
      return { json, text: `Applied: ${say(json.applied)}. After a restart: ${say(json.restart)}.` };
    } finally {
      await services.store.revokeOperatorKey({ id: given.id, now: clock.now() });
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

import {
  createRequestStateCodec,
  inputRequired,
  type CallToolResult,
  type InputRequiredResult,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { randomBase62 } from '../kit/ids.ts';
import { isJsonObject } from '../kit/json.ts';
import { memoizeAsync } from '../kit/memoize.ts';
import { askedMs } from '../operations/ask-person.ts';
import type { Services } from '../operations/call.ts';
import { capabilitiesOf, type RequestMetadata } from './to-task.ts';

/**
 * Returns a result that asks for a page to be opened, and the call to be repeated. Null: the client cannot do that, or it
 * has asked already. `meta`: what else it should read.
 */
export type AskByUrl = (
  asked: AskedState & { message: string; meta: CallToolResult['_meta'] },
  context: { mcpReq: RequestMetadata['mcpReq'] & Partial<Pick<ServerContext['mcpReq'], 'requestState'>> },
) => Promise<InputRequiredResult | null>;

/** What a client hands back with a call that is repeated: the page that its person was asked to open. */
interface AskedState {
  page: string;
}

/** Asks persons to open pages, by clients that declare elicitation by URL. */
export const createAskByUrl = ({ store }: Pick<Services, 'store'>) => {
  // Shared by every process on one store, as a repeated call may reach another one.
  const load = memoizeAsync(async (): Promise<RequestStateCodec<AskedState>> =>
    createRequestStateCodec({
      key: await store.getOrCreateSecret({ name: 'mcp-request-state', value: randomBase62(43) }),
      // The question waits, and then its answer.
      ttlSeconds: (2 * askedMs) / 1_000 + 60,
    }),
  );
  const verifyState = async (...sent: Parameters<RequestStateCodec['verify']>): Promise<AskedState> =>
    (await load()).verify(...sent);
  const askByUrl: AskByUrl = async ({ page, message, meta }, context) => {
    const { elicitation } = capabilitiesOf(context);
    if (!isJsonObject(elicitation) || !isJsonObject(elicitation['url'])) return null;
    if (context.mcpReq.requestState?.<AskedState | undefined>()?.page === page) return null;
    const codec = await load();
    const asking = inputRequired({
      inputRequests: { page: inputRequired.elicitUrl({ url: page, message }) },
      requestState: await codec.mint({ page }),
    });
    return { ...asking, ...(meta === undefined ? {} : { _meta: meta }) };
  };
  return { askByUrl, verifyState };
};

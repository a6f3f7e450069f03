import { z } from 'zod';
import { wrongField } from '../../kit/errors.ts';
import { signInName } from '../../mounts/oauth-settings.ts';
import { jsonAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { readOperation } from '../define-operation.ts';
import { assertUnlimited } from '../keys/key-answer.ts';

const input = z.object({ server: z.string().max(64).describe('The name of the mounted server.') });
const noSignIn = 'server: accounts do not sign in to this server.';

export const endToolSignIn = readOperation<z.output<typeof input>, Pick<Services, 'mounts'>>({
  name: 'end_tool_sign_in',
  title: 'Sign out of tools',
  description:
    'Removes the tokens of this account for a mounted server, whose tools act in the name of a person. The server is not ' +
    'told: end the access there, too. Not with a key that has limits. Free.',
  input,
  output: z.looseObject({
    server: z.string(),
    sign_in_url: z.string().describe('Where a person signs in again, in a browser.'),
  }),
  group: 'tools',
  method: 'DELETE',
  path: '/v1/tools/{server}/sign-in',
  errors: ['permission_denied', 'invalid_value'],
  docs: {
    answer: 'ToolSignIn',
    examples: [
      {
        summary: 'Sign out',
        parameters: { server: 'notes' },
        answer: { server: 'notes', sign_in_url: 'https://gateway.example.com/oauth/tools/notes' },
      },
    ],
    wrong: { server: 'x'.repeat(65) },
    errors: {
      invalid_value: { when: 'Accounts do not sign in to the server.', message: noSignIn, param: 'server' },
    },
  },
  tool: null,
  handle: async ({ server }, { caller }, { mounts }) => {
    assertUnlimited(caller, 'sign out');
    const page = mounts.signIns.pageOf(server);
    if (page === null) throw wrongField('invalid_value', 'server', noSignIn);
    await mounts.secrets.set({ accountId: caller.accountId, server }, { [signInName]: null });
    return jsonAnswer({ server, sign_in_url: page });
  },
});

import { z } from 'zod';
import { inGateway, operatorWrite } from '../operator-operation.ts';
import { leadErrors, loggedPeople, peopleFields } from './people-fields.ts';

export const forgetPeople = operatorWrite({
  name: 'forget_people',
  title: 'Forget people for good',
  description:
    'Forgets people on their request: no search finds them from now on, their data is erased, and no import adds them ' +
    'again. This holds for people without a profile too. Only a digest of each name is kept. If leads.http has a ' +
    'request forget, it is sent then; `leads_failed` says when it failed, and the same call may be repeated. The audit ' +
    'log has their number, not their names.',
  group: 'leads',
  path: '/leads/forget',
  fields: peopleFields,
  logged: loggedPeople,
  output: z.strictObject({
    forgotten: z.int().describe('How many people.'),
    removed: z.int().describe('How many of them had a profile.'),
  }),
  answer: 'ForgottenPeople',
  example: { input: { usernames: ['jane.doe'] }, answer: { forgotten: 1, removed: 1 } },
  errors: leadErrors,
  handle: async ({ usernames }, services) => {
    const { desk, forgetUpstream } = inGateway(services).leads;
    const { removed } = await desk.forget(usernames);
    await forgetUpstream(usernames);
    return { forgotten: usernames.length, removed };
  },
});

import { z } from 'zod';
import { inGateway, operatorWrite } from '../operator-operation.ts';
import { leadErrors, loggedPeople, peopleFields } from './people-fields.ts';

export const restorePeople = operatorWrite({
  name: 'restore_people',
  title: 'Let forgotten people be imported again',
  description:
    'Lets people be imported again. Their profiles are erased and come back only with the next import that names them.',
  group: 'leads',
  path: '/leads/restore',
  fields: peopleFields,
  logged: loggedPeople,
  output: z.strictObject({
    restored: z.int(),
    not_forgotten: z.int().describe('How many of the names were not forgotten.'),
  }),
  answer: 'RestoredPeople',
  example: { input: { usernames: ['jane.doe'] }, answer: { restored: 1, not_forgotten: 0 } },
  errors: leadErrors,
  handle: async ({ usernames }, services) => {
    const { desk } = inGateway(services).leads;
    const { restored } = await desk.remember(usernames);
    return { restored, not_forgotten: usernames.length - restored };
  },
});

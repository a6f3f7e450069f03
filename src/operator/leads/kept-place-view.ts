import { z } from 'zod';
import { addressOf } from '../../leads/shared/shared-place.ts';
import type { KeptPlace } from '../../leads/keeping/open-lead-keeper.ts';

export const placeFields = {
  place: z.enum(['embedded', 'shared']).describe('`shared`: profiles of a fleet.'),
  url: z.string().optional().describe('The address of a shared place.'),
};

export const toPlaceView = ({ shared }: Pick<KeptPlace, 'shared'>) =>
  shared === null ? { place: 'embedded' as const } : { place: 'shared' as const, url: addressOf(shared) };

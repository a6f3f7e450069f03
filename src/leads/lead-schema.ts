import { z } from 'zod';

/** A profile in the form of the contract. Absent optional fields are left out, never null. */
export const leadSchema = z.object({
  username: z.string(),
  full_name: z.string(),
  followers: z.number(),
  following: z.number(),
  is_verified: z.boolean(),
  is_business: z.boolean(),
  category: z.string().optional(),
  bio: z.string().optional(),
  public_email: z.string().optional(),
  media_count: z.number().optional(),
  gender: z.enum(['male', 'female']).optional(),
  profile_pic_url: z.string().optional(),
  country: z.string().optional(),
  city: z.string().optional(),
});

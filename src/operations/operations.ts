// The list of all operations: routes, validation, limits, OpenAPI and the reference page come from it.
import { activateCouponList } from './activate-coupon-list.ts'
import { addCoupons } from './add-coupons.ts'
import { archiveCouponList } from './archive-coupon-list.ts'
import { createCampaign } from './create-campaign.ts'
import { createCouponList } from './create-coupon-list.ts'
import { createTemplate } from './create-template.ts'
import { fetchCampaignStats } from './fetch-campaign-stats.ts'
import { fetchCouponList } from './fetch-coupon-list.ts'
import { findRequest } from './find-request.ts'
import { getCampaign } from './get-campaign.ts'
import { getUser } from './get-user.ts'
import { listCampaigns } from './list-campaigns.ts'
import { listCouponLists } from './list-coupon-lists.ts'
import { listPreferenceChanges } from './list-preference-changes.ts'
import { listUserEvents } from './list-user-events.ts'
import type { Operation } from './operation.ts'
import { readPreferences } from './read-preferences.ts'
import { reportAudience } from './report-audience.ts'
import { reportMessageEvents } from './report-message-events.ts'
import { searchTemplates } from './search-templates.ts'
import { trackEvents } from './track-events.ts'
import { trackUser } from './track-user.ts'
import { updateCampaign } from './update-campaign.ts'
import { updateCouponList } from './update-coupon-list.ts'
import { updatePreferences } from './update-preferences.ts'
import { updateTemplate } from './update-template.ts'

export const OPERATIONS: readonly Operation[] = [
  searchTemplates,
  createTemplate,
  updateTemplate,
  fetchCouponList,
  createCouponList,
  listCouponLists,
  updateCouponList,
  activateCouponList,
  archiveCouponList,
  addCoupons,
  trackEvents,
  trackUser,
  getUser,
  listUserEvents,
  findRequest,
  updatePreferences,
  readPreferences,
  listPreferenceChanges,
  reportAudience,
  reportMessageEvents,
  createCampaign,
  listCampaigns,
  getCampaign,
  updateCampaign,
  fetchCampaignStats,
]
